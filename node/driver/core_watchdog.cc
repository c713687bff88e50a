#include "node/driver/core_watchdog.h"

#include <pthread.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "glog/logging.h"

namespace kamino::node {

std::string CoreActivity::ToString() const {
  char name[kMaxName + 1] = {};
  for (size_t i = 0; i < name_.size(); ++i) {
    const uint64_t word = name_[i].load(std::memory_order_relaxed);
    std::memcpy(name + i * sizeof(word), &word, sizeof(word));
  }
  const uint64_t whose = whose_.load(std::memory_order_relaxed);
  return whose == 0 ? std::string(name) : absl::StrCat(name, " (", whose, ")");
}

CoreWatchdog::CoreWatchdog(CoreWatchdogOptions options,
                           const CoreActivity* activity)
    : options_(std::move(options)), activity_(activity) {
  thread_ = std::thread([this] { Run(); });
}

CoreWatchdog::~CoreWatchdog() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void CoreWatchdog::Run() {
  pthread_setname_np(pthread_self(), "watchdog");
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&stopping_),
                              options_.patience / 2);
      if (stopping_) return;
    }
    Look(MonotonicNow());
  }
}

void CoreWatchdog::Say(const std::string& line) const {
  if (options_.log != nullptr) return options_.log(line);
  LOG(WARNING) << line;
}

void CoreWatchdog::Look(absl::Time now) {
  const uint64_t step = activity_->steps();
  if (options_.goes_on != nullptr && (step != step_ || activity_->idle())) {
    options_.goes_on();
  }
  if (step != step_) {
    if (said_) {
      Say(absl::StrCat("the core thread was busy for about ",
                       absl::FormatDuration(absl::Floor(now - seen_since_,
                                                        absl::Milliseconds(1))),
                       " with one step, which ended with ", what_));
    }
    step_ = step;
    seen_since_ = now;
    said_ = false;
    what_.clear();
    return;
  }
  if (activity_->idle() || now - seen_since_ < options_.patience) return;
  const bool found_before = !what_.empty();
  what_ = activity_->ToString();
  if (found_before) return;
  if (now < quiet_until_) {
    ++unsaid_;
    return;
  }
  said_ = true;
  quiet_until_ = now + options_.spacing;
  std::string line = absl::StrCat("the core thread has been busy for over ",
                                  absl::FormatDuration(options_.patience),
                                  " with ", what_, "; all other work waits");
  if (unsaid_ > 0) {
    absl::StrAppend(&line, " (", std::exchange(unsaid_, 0),
                    " more such steps since the last line)");
  }
  Say(line);
}

}  // namespace kamino::node
