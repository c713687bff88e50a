// A store in memory that answers on a thread of its own.
#ifndef KAMINO_TESTS_BENCH_SERVICE_STUB_SUBJECT_H_
#define KAMINO_TESTS_BENCH_SERVICE_STUB_SUBJECT_H_

#include <deque>
#include <functional>
#include <map>
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
    // So many calls come before any is answered.
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

  absl::Status TidyUp() override {
    ++tidied;
    return absl::OkStatus();
  }

  // While no call is under way.
  const std::map<std::string, std::string>& values() const { return values_; }
  uint64_t mutations() const { return mutations_; }
  int tidied = 0;

 private:
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

  absl::Mutex mutex_;
  std::deque<std::function<void()>> calls_ ABSL_GUARDED_BY(mutex_);
  int asked_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace kamino::bench::service

#endif  // KAMINO_TESTS_BENCH_SERVICE_STUB_SUBJECT_H_
