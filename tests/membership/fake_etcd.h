// An in-memory etcd for the managers of one test, and a clock that the test
// moves. Its calls can be made to fail before or after they take effect.
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
#include "tests/patience.h"

namespace kamino::membership {

// Moves only when the test moves it. Thread-safe.
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

  // Whether `condition` comes true in time. Checks it whenever the clock is
  // read, as managers and agents do in each round, and now and then.
  bool Eventually(const std::function<bool()>& condition) const {
    const absl::Time deadline = absl::Now() + Patience(absl::Seconds(10));
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

// The state that all managers share. Thread-safe.
class FakeEtcdServer {
 public:
  enum class Fault { kNone, kUnreachable, kAnswerLost, kFull };

  // Applies to every call, or to those with that name only.
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
    ++revision_;
    Store(key, value);
  }
  void Delete(const std::string& key) {
    absl::MutexLock lock(&mutex_);
    values_.erase(key);
  }
  // Restores the former value, with its revision.
  void PutBack(const std::string& key, const Etcd::Value& before) {
    absl::MutexLock lock(&mutex_);
    values_[key] = before;
  }
  // Removes all keys, and resets the revisions.
  void Empty() {
    absl::MutexLock lock(&mutex_);
    values_.clear();
    revision_ = 0;
  }
  Etcd::Value Get(const std::string& key) {
    absl::MutexLock lock(&mutex_);
    return Read(key);
  }
  // History before that revision is gone.
  int64_t compacted() const {
    absl::MutexLock lock(&mutex_);
    return compacted_;
  }

 private:
  friend class FakeEtcd;

  // The result of a call that has this effect.
  template <typename Result>
  Result Call(const std::string& name, const std::function<Result()>& effect) {
    absl::MutexLock lock(&mutex_);
    ++calls_[name];
    const bool faulty = faulty_call_.empty() || faulty_call_ == name;
    if (faulty && fault_ == Fault::kUnreachable) {
      return absl::UnavailableError("etcd: unreachable");
    }
    const bool writes = name != "Look" && name != "Compact";
    if (faulty && fault_ == Fault::kFull && writes) {
      return absl::ResourceExhaustedError("etcd: database space exceeded");
    }
    Result result = effect();
    if (faulty && fault_ == Fault::kAnswerLost) {
      return absl::DeadlineExceededError("etcd: answer lost");
    }
    return result;
  }

  void Store(const std::string& key, const std::string& value)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    values_[key] = {value, revision_};
  }
  Etcd::Value Read(const std::string& key) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = values_.find(key);
    return found == values_.end() ? Etcd::Value() : found->second;
  }
  Etcd::Stored Read(const Etcd::Keys& keys) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return {Read(keys.leader), Read(keys.renewal), Read(keys.view)};
  }

  mutable absl::Mutex mutex_;
  Fault fault_ ABSL_GUARDED_BY(mutex_) = Fault::kNone;
  std::string faulty_call_ ABSL_GUARDED_BY(mutex_);  // "": every one
  int64_t revision_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int> calls_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Etcd::Value> values_ ABSL_GUARDED_BY(mutex_);
  int64_t compacted_ ABSL_GUARDED_BY(mutex_) = 0;
};

// One manager's connection.
class FakeEtcd final : public Etcd {
 public:
  explicit FakeEtcd(FakeEtcdServer* server) : server_(server) {}

  absl::StatusOr<Stored> Look(const Keys& keys) override {
    FakeEtcdServer* s = server_;
    return s->Call<absl::StatusOr<Stored>>(
        "Look", [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return s->Read(keys); });
  }

  absl::StatusOr<Election> Campaign(const Keys& keys, const std::string& name,
                                    const std::string& renewal,
                                    int64_t leader_revision,
                                    int64_t renewal_revision) override {
    FakeEtcdServer* s = server_;
    return s->Call<absl::StatusOr<Election>>(
        "Campaign", [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
          Election election;
          election.won = s->Read(keys.leader).mod_revision == leader_revision &&
                         s->Read(keys.renewal).mod_revision == renewal_revision;
          if (election.won) {
            ++s->revision_;
            s->Store(keys.leader, name);
            s->Store(keys.renewal, renewal);
          }
          election.stored = s->Read(keys);
          return election;
        });
  }

  absl::StatusOr<Stored> Renew(const Keys& keys, const std::string& renewal,
                               const Leadership& leadership) override {
    FakeEtcdServer* s = server_;
    return s->Call<absl::StatusOr<Stored>>(
        "Renew",
        [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::StatusOr<Stored> {
          const Value leader = s->Read(keys.leader);
          if (leader.mod_revision != leadership.revision ||
              leader.value != leadership.name) {
            return absl::AbortedError("another manager leads");
          }
          ++s->revision_;
          s->Store(keys.renewal, renewal);
          return s->Read(keys);
        });
  }

  absl::StatusOr<Value> Replace(const Keys& keys, const std::string& value,
                                int64_t expected_revision,
                                const Leadership& leadership) override {
    FakeEtcdServer* s = server_;
    return s->Call<absl::StatusOr<Value>>(
        "Replace",
        [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::StatusOr<Value> {
          const Value leader = s->Read(keys.leader);
          if (leader.mod_revision != leadership.revision ||
              leader.value != leadership.name) {
            return absl::AbortedError("another manager leads");
          }
          if (s->Read(keys.view).mod_revision == expected_revision) {
            ++s->revision_;
            s->Store(keys.view, value);
          }
          return s->Read(keys.view);
        });
  }

  absl::Status Compact(int64_t revision) override {
    FakeEtcdServer* s = server_;
    return s->Call<absl::Status>("Compact",
                                 [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                   s->compacted_ = revision;
                                   return absl::OkStatus();
                                 });
  }

 private:
  FakeEtcdServer* const server_;
};

}  // namespace kamino::membership

#endif  // KAMINO_TESTS_MEMBERSHIP_FAKE_ETCD_H_
