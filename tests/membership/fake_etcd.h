// An etcd in memory, on a clock that the test moves, for managers of one test.
// Its calls can be made to fail before or after they took effect.
#ifndef KAMINO_TESTS_MEMBERSHIP_FAKE_ETCD_H_
#define KAMINO_TESTS_MEMBERSHIP_FAKE_ETCD_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "membership/etcd/etcd.h"

namespace kamino::membership {

// Moves only when told. Thread-safe.
class TestClock {
 public:
  absl::Time Now() const {
    absl::MutexLock lock(&mutex_);
    ++reads_;
    return now_;
  }
  void Advance(absl::Duration time) {
    absl::MutexLock lock(&mutex_);
    now_ += time;
  }
  int64_t reads() const {
    absl::MutexLock lock(&mutex_);
    return reads_;
  }
  std::function<absl::Time()> AsFunction() {
    return [this] { return Now(); };
  }

  // Whether `condition` comes true within ten seconds; looks as often as anyone
  // reads the clock, as managers and agents do in each round, and now and then.
  bool Eventually(const std::function<bool()>& condition) const {
    const absl::Time deadline = absl::Now() + absl::Seconds(10);
    while (!condition()) {
      absl::MutexLock lock(&mutex_);
      const int64_t seen = reads_;
      const auto read_again = [&] { return reads_ != seen; };
      mutex_.AwaitWithTimeout(absl::Condition(&read_again),
                              absl::Milliseconds(20));
      if (absl::Now() > deadline) return false;
    }
    return true;
  }

 private:
  mutable absl::Mutex mutex_;
  mutable int64_t reads_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::FromUnixSeconds(1000);
};

// What all managers see. Thread-safe.
class FakeEtcdServer {
 public:
  enum class Fault { kNone, kUnreachable, kAnswerLost };

  explicit FakeEtcdServer(TestClock* clock) : clock_(clock) {}

  // Of every call, or of those of that name only.
  void SetFault(Fault fault, const std::string& call = "") {
    absl::MutexLock lock(&mutex_);
    fault_ = fault;
    faulty_call_ = call;
  }
  // How many calls of that name there were.
  int calls(const std::string& name) const {
    absl::MutexLock lock(&mutex_);
    const auto found = calls_.find(name);
    return found == calls_.end() ? 0 : found->second;
  }
  void Put(const std::string& key, const std::string& value) {
    absl::MutexLock lock(&mutex_);
    Store(key, value, 0);
  }
  void Delete(const std::string& key) {
    absl::MutexLock lock(&mutex_);
    keys_.erase(key);
  }
  Etcd::Value Get(const std::string& key) {
    absl::MutexLock lock(&mutex_);
    return Read(key);
  }

 private:
  friend class FakeEtcd;

  struct Key {
    Etcd::Value value;
    int64_t lease;
  };
  struct Lease {
    absl::Duration ttl;
    absl::Time until;
  };

  // The outcome of a call whose effect is `effect`.
  template <typename Result>
  Result Call(const std::string& name, const std::function<Result()>& effect) {
    absl::MutexLock lock(&mutex_);
    ++calls_[name];
    const bool faulty = faulty_call_.empty() || faulty_call_ == name;
    if (faulty && fault_ == Fault::kUnreachable) {
      return absl::UnavailableError("etcd: unreachable");
    }
    Expire();
    Result result = effect();
    if (faulty && fault_ == Fault::kAnswerLost) {
      return absl::DeadlineExceededError("etcd: answer lost");
    }
    return result;
  }

  void Expire() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Time now = clock_->Now();
    for (auto it = leases_.begin(); it != leases_.end();) {
      const auto lease = it++;
      if (lease->second.until <= now) Revoke(lease->first);
    }
  }
  void Revoke(int64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    leases_.erase(id);
    for (auto it = keys_.begin(); it != keys_.end();) {
      it = it->second.lease == id ? keys_.erase(it) : std::next(it);
    }
  }
  void Store(const std::string& key, const std::string& value, int64_t lease)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Key& stored = keys_[key];
    stored.value.value = value;
    stored.value.mod_revision = ++revision_;
    if (stored.value.create_revision == 0) {
      stored.value.create_revision = revision_;
    }
    stored.lease = lease;
  }
  Etcd::Value Read(const std::string& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = keys_.find(key);
    return found == keys_.end() ? Etcd::Value() : found->second.value;
  }

  TestClock* const clock_;
  mutable absl::Mutex mutex_;
  Fault fault_ ABSL_GUARDED_BY(mutex_) = Fault::kNone;
  std::string faulty_call_ ABSL_GUARDED_BY(mutex_);  // "": every one
  int64_t revision_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t next_lease_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<std::string, int> calls_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, Lease> leases_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Key> keys_ ABSL_GUARDED_BY(mutex_);
};

// One manager's connection.
class FakeEtcd final : public Etcd {
 public:
  explicit FakeEtcd(FakeEtcdServer* server) : server_(server) {}

  absl::StatusOr<int64_t> GrantLease(int64_t ttl_seconds) override {
    FakeEtcdServer* s = server_;
    return s->Call<absl::StatusOr<int64_t>>(
        "GrantLease", [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
          const absl::Duration ttl = absl::Seconds(ttl_seconds);
          s->leases_[s->next_lease_] = {ttl, s->clock_->Now() + ttl};
          return s->next_lease_++;
        });
  }

  absl::Status KeepAlive(int64_t lease) override {
    FakeEtcdServer* s = server_;
    return s->Call<absl::Status>(
        "KeepAlive", [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
          const auto found = s->leases_.find(lease);
          if (found == s->leases_.end()) return absl::NotFoundError("lease");
          found->second.until = s->clock_->Now() + found->second.ttl;
          return absl::OkStatus();
        });
  }

  absl::Status RevokeLease(int64_t lease) override {
    FakeEtcdServer* s = server_;
    return s->Call<absl::Status>("RevokeLease",
                                 [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                   s->Revoke(lease);
                                   return absl::OkStatus();
                                 });
  }

  absl::StatusOr<Election> Campaign(const std::string& leader_key,
                                    const std::string& name, int64_t lease,
                                    const std::string& view_key) override {
    FakeEtcdServer* s = server_;
    return s->Call<absl::StatusOr<Election>>(
        "Campaign",
        [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::StatusOr<Election> {
          Election election;
          election.won = s->Read(leader_key).create_revision == 0;
          if (election.won) {
            if (s->leases_.count(lease) == 0) {
              return absl::NotFoundError("lease");
            }
            s->Store(leader_key, name, lease);
          }
          election.leader = s->Read(leader_key);
          election.view = s->Read(view_key);
          return election;
        });
  }

  absl::StatusOr<Value> Replace(const std::string& view_key,
                                const std::string& value,
                                int64_t expected_revision,
                                const std::string& leader_key,
                                int64_t leader_revision) override {
    FakeEtcdServer* s = server_;
    return s->Call<absl::StatusOr<Value>>(
        "Replace",
        [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::StatusOr<Value> {
          if (s->Read(leader_key).create_revision != leader_revision) {
            return absl::AbortedError("another manager leads");
          }
          if (s->Read(view_key).mod_revision == expected_revision) {
            s->Store(view_key, value, 0);
          }
          return s->Read(view_key);
        });
  }

 private:
  FakeEtcdServer* const server_;
};

}  // namespace kamino::membership

#endif  // KAMINO_TESTS_MEMBERSHIP_FAKE_ETCD_H_
