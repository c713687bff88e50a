// A store in memory that answers on a thread of its own.
#ifndef KAMINO_TESTS_BENCH_SERVICE_STUB_SUBJECT_H_
#define KAMINO_TESTS_BENCH_SERVICE_STUB_SUBJECT_H_

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "bench/service/subject.h"

namespace kamino::bench::service {

class StubSubject : public Subject {
 public:
  struct Faults {
    // Calls that are withheld until this many have come.
    int withheld = 0;
    // One mutation in so many fails; 0: none.
    int failing = 0;
    // Reads find values with one byte more.
    bool wrong_values = false;
  };

  explicit StubSubject(std::string name) : StubSubject(std::move(name), {}) {}
  StubSubject(std::string name, Faults faults)
      : name_(std::move(name)), faults_(faults), thread_([this] { Run(); }) {}
  ~StubSubject() override {
    {
      absl::MutexLock lock(&mutex_);
      ends_ = true;
    }
    thread_.join();
  }

  const std::string& name() const override { return name_; }

  void Put(const Object& object, Done done) override {
    PutAll({object}, std::move(done));
  }

  void PutAll(const std::vector<Object>& objects, Done done) override {
    Ask([this, objects, done = std::move(done)] {
      ++mutations_;
      if (faults_.failing != 0 && mutations_ % faults_.failing == 0) {
        return done(absl::UnavailableError("planted"), "");
      }
      for (const Object& object : objects) values_[object.key] = object.value;
      done(absl::OkStatus(), "");
    });
  }

  void Get(const std::string& key, Done done) override {
    Ask([this, key, done = std::move(done)] {
      const auto found = values_.find(key);
      if (found == values_.end()) return done(absl::NotFoundError(key), "");
      done(absl::OkStatus(),
           faults_.wrong_values ? found->second + "x" : found->second);
    });
  }

  bool scans() const override { return true; }
  void Scan(const std::string& key, size_t limit, Scanned done) override {
    Ask([this, key, limit, done = std::move(done)] {
      size_t count = 0;
      for (auto at = values_.lower_bound(key);
           at != values_.end() && count < limit; ++at) {
        ++count;
      }
      done(absl::OkStatus(), count);
    });
  }

  bool transacts() const override { return true; }
  // One after the other; what fails has changed nothing.
  absl::Status Transact(
      absl::FunctionRef<absl::Status(Objects& objects)> body) override {
    absl::MutexLock lock(&transactions_mutex_);
    StubObjects objects(&rows_);
    const absl::Status done = body(objects);
    if (done.ok()) objects.Commit();
    return done;
  }
  // The rows that transactions see; only while none runs.
  std::map<std::string, std::string>& rows() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return rows_;
  }

  absl::Status TidyUp() override {
    ++tidied;
    return absl::OkStatus();
  }

  // While no call is under way.
  const std::map<std::string, std::string>& values() const { return values_; }
  uint64_t mutations() const { return mutations_; }
  int tidied = 0;

 private:
  using Values = std::map<std::string, std::string>;

  class StubObjects final : public Objects {
   public:
    explicit StubObjects(Values* values) : values_(values), own_(*values) {}
    void Commit() { values_->swap(own_); }

    absl::StatusOr<std::optional<std::string>> Get(
        absl::string_view key) override {
      const auto found = own_.find(std::string(key));
      if (found == own_.end()) return std::nullopt;
      return found->second;
    }
    void Expect(absl::Span<const std::string>) override {}
    absl::Status Scan(
        absl::string_view start, absl::string_view end,
        absl::FunctionRef<bool(absl::string_view key, absl::string_view value)>
            visit) override {
      for (auto at = own_.lower_bound(std::string(start));
           at != own_.end() && at->first < end; ++at) {
        if (!visit(at->first, at->second)) break;
      }
      return absl::OkStatus();
    }
    void Put(absl::string_view key, absl::string_view value) override {
      own_[std::string(key)] = std::string(value);
    }
    absl::Status Patch(absl::string_view key, uint64_t offset,
                       absl::string_view data) override {
      const auto found = own_.find(std::string(key));
      if (found == own_.end()) return absl::NotFoundError(key);
      found->second.replace(offset, data.size(), data.data(), data.size());
      return absl::OkStatus();
    }
    void Delete(absl::string_view key) override {
      own_.erase(std::string(key));
    }

   private:
    Values* const values_;
    Values own_;
  };

  void Ask(std::function<void()> call) {
    absl::MutexLock lock(&mutex_);
    ++asked_;
    calls_.push_back(std::move(call));
  }

  void Run() {
    for (;;) {
      std::function<void()> call;
      {
        absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(this, &StubSubject::HasWork));
        if (calls_.empty()) return;
        call = std::move(calls_.front());
        calls_.pop_front();
      }
      call();
    }
  }

  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return ends_ || (asked_ >= faults_.withheld && !calls_.empty());
  }

  const std::string name_;
  const Faults faults_;

  // The thread's.
  std::map<std::string, std::string> values_;
  uint64_t mutations_ = 0;

  absl::Mutex transactions_mutex_;
  Values rows_ ABSL_GUARDED_BY(transactions_mutex_);

  absl::Mutex mutex_;
  std::deque<std::function<void()>> calls_ ABSL_GUARDED_BY(mutex_);
  int asked_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace kamino::bench::service

#endif  // KAMINO_TESTS_BENCH_SERVICE_STUB_SUBJECT_H_
