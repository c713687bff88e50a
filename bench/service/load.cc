#include "bench/service/load.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "bench/service/caller.h"
#include "bench/service/recorder.h"

namespace kamino::bench::service {
namespace {

class ClosedLoad {
 public:
  // Begins no more than `operations`.
  ClosedLoad(Subject* subject, const Workload& workload, int outstanding,
             uint64_t operations, uint64_t seed)
      : subject_(subject),
        left_(static_cast<int64_t>(operations)),
        running_(outstanding) {
    for (int i = 0; i < outstanding; ++i) {
      callers_.push_back(std::make_unique<Caller>(
          subject, &workload, FnvHash(seed) + static_cast<uint64_t>(i)));
    }
  }

  void Start() {
    for (const auto& caller : callers_) Next(caller.get());
    subject_->Flush();
  }
  void Stop() { left_.store(0); }
  void AwaitEnd() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](int* running) { return *running == 0; }, &running_));
  }

  Recorder& recorder() { return recorder_; }

 private:
  void Next(Caller* caller) {
    if (left_.fetch_sub(1) <= 0) return Leave();
    caller->Prepare();
    const Nanos begin = NowNanos();
    caller->Begin([this, caller, begin](const absl::Status& status, Nanos at) {
      recorder_.Ended(begin, at, caller->writes(), status);
      status.ok() ? Next(caller) : Leave();
    });
  }

  void Leave() {
    absl::MutexLock lock(&mutex_);
    --running_;
  }

  Subject* const subject_;
  std::vector<std::unique_ptr<Caller>> callers_;
  std::atomic<int64_t> left_;
  Recorder recorder_;
  absl::Mutex mutex_;
  int running_ ABSL_GUARDED_BY(mutex_);
};

// To the microsecond, where the processor is free then.
void WaitUntil(Nanos at) {
  timespec until;
  until.tv_sec = at / 1'000'000'000;
  until.tv_nsec = at % 1'000'000'000;
  while (NowNanos() < at) {
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
}

// Fewer than there are callers: some is sent when there is none left.
constexpr int kMostUnsent = 64;
static_assert(kMostUnsent < kMostUnderWay);

// Callers that have nothing to do.
class FreeCallers {
 public:
  void Add(Caller* caller) {
    absl::MutexLock lock(&mutex_);
    free_.push_back(caller);
  }

  Caller* Take() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](std::vector<Caller*>* free) { return !free->empty(); }, &free_));
    // The last one: its memory is still in the cache.
    Caller* const caller = free_.back();
    free_.pop_back();
    return caller;
  }

  void AwaitAll(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto all = [this, count]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return free_.size() == count;
    };
    mutex_.Await(absl::Condition(&all));
  }

 private:
  absl::Mutex mutex_;
  std::vector<Caller*> free_ ABSL_GUARDED_BY(mutex_);
};

// Times between arrivals.
class Gaps {
 public:
  Gaps(double per_second, Arrivals arrivals, uint64_t seed)
      : mean_(1e9 / per_second), arrivals_(arrivals), random_(seed) {}

  double Next() {
    if (arrivals_ == Arrivals::kFixed) return mean_;
    return -mean_ * std::log(1 - random_.Fraction());
  }

 private:
  const double mean_;
  const Arrivals arrivals_;
  Random random_;
};

}  // namespace

Outcome RunClosed(Subject* subject, const Workload& workload, int outstanding,
                  uint64_t seed, const Window& window) {
  ClosedLoad load(subject, workload, outstanding,
                  std::numeric_limits<int64_t>::max(), seed);
  load.Start();
  load.recorder().Watch(window);
  load.Stop();
  load.AwaitEnd();
  return load.recorder().Take();
}

absl::Status RunToEnd(Subject* subject, const Workload& workload,
                      int outstanding, uint64_t operations, uint64_t seed) {
  ClosedLoad load(subject, workload, outstanding, operations, seed);
  load.Start();
  load.AwaitEnd();
  return load.recorder().Take().first_error;
}

Outcome RunOpen(Subject* subject, const Workload& workload, double per_second,
                Arrivals arrivals, uint64_t seed, const Window& window) {
  std::vector<std::unique_ptr<Caller>> callers;
  FreeCallers free;
  for (int i = 0; i < kMostUnderWay; ++i) {
    callers.push_back(std::make_unique<Caller>(
        subject, &workload, FnvHash(seed) + static_cast<uint64_t>(i)));
    free.Add(callers.back().get());
  }
  Recorder recorder;
  Gaps gaps(per_second, arrivals, seed);
  const Nanos start = NowNanos();
  const Nanos begin = start + absl::ToInt64Nanoseconds(window.warm_up);
  const Nanos end = begin + absl::ToInt64Nanoseconds(window.length);
  recorder.OpenWindow(begin);
  recorder.CloseWindow(end);
  bool begun = false;
  int unsent = 0;
  for (double due = gaps.Next();; due += gaps.Next()) {
    const Nanos at = start + static_cast<Nanos>(due);
    // A late operation joins the unsent ones before it.
    if (unsent == kMostUnsent || (unsent != 0 && NowNanos() < at)) {
      subject->Flush();
      unsent = 0;
    }
    if (at >= begin && !begun) {
      WaitUntil(begin);
      if (window.begins) window.begins();
      begun = true;
    }
    if (at >= end) break;
    Caller* const caller = free.Take();
    caller->Prepare();
    WaitUntil(at);
    recorder.Sent(at, NowNanos());
    caller->Begin([&, at, caller](const absl::Status& status, Nanos answered) {
      recorder.Ended(at, answered, caller->writes(), status);
      free.Add(caller);
    });
    ++unsent;
  }
  subject->Flush();
  WaitUntil(end);
  if (window.ends) window.ends();
  free.AwaitAll(callers.size());
  return recorder.Take();
}

}  // namespace kamino::bench::service
