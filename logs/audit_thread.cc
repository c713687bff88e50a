#include "logs/audit_thread.h"

#include <pthread.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace kamino::logs {
namespace {

constexpr char kRemedy[] =
    "; check that the reader of stderr and the disk of --audit_log take lines, "
    "then repeat the call";

AuditThread::Options WithClock(AuditThread::Options options) {
  if (options.clock == nullptr) options.clock = MonotonicNow;
  return options;
}

}  // namespace

class AuditThread::Place {
 public:
  explicit Place(AuditThread* owner) : owner_(owner) {}
  ~Place() {
    absl::MutexLock lock(&owner_->mutex_);
    --owner_->calls_;
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  AuditThread* const owner_;
};

AuditThread::AuditThread(Options options)
    : options_(WithClock(std::move(options))), thread_([this] { Run(); }) {}

AuditThread::~AuditThread() {
  {
    absl::MutexLock lock(&mutex_);
    stops_ = true;
  }
  thread_.join();
}

absl::Status AuditThread::CheckMayBegin(absl::Time now) const {
  if (calls_ >= options_.most_calls) {
    return absl::FailedPreconditionError(absl::StrCat(
        "nothing was done: ", calls_,
        " operators' calls already wait for their audit lines to be written",
        kRemedy));
  }
  const absl::Duration still = now - step_began_;
  if (still < options_.patience) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "nothing was done: another operator's call has been under way for ",
      absl::FormatDuration(absl::Trunc(still, absl::Milliseconds(1))),
      kRemedy));
}

absl::Status AuditThread::Begin(First first) {
  absl::MutexLock lock(&mutex_);
  const absl::Time began = options_.clock();
  RETURN_IF_ERROR(CheckMayBegin(began));
  ++calls_;
  auto place = std::make_shared<const Place>(this);
  steps_.push_back([this, began, place = std::move(place),
                    first = std::move(first)] {
    const absl::Duration waited = options_.clock() - began;
    if (waited < options_.patience) return first(place, absl::OkStatus());
    first(place,
          absl::FailedPreconditionError(absl::StrCat(
              "nothing was done: the call has waited for ",
              absl::FormatDuration(absl::Trunc(waited, absl::Milliseconds(1))),
              " for audit lines of other calls to be written", kRemedy)));
  });
  return absl::OkStatus();
}

void AuditThread::Continue(PlacePtr place, std::function<void()> step) {
  absl::MutexLock lock(&mutex_);
  steps_.push_back(
      [place = std::move(place), step = std::move(step)] { step(); });
}

void AuditThread::Run() {
  pthread_setname_np(pthread_self(), "audit");
  const auto wakes = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !steps_.empty() || stops_;
  };
  while (true) {
    std::function<void()> step;
    {
      absl::MutexLock lock(&mutex_);
      step_began_ = absl::InfiniteFuture();
      mutex_.Await(absl::Condition(&wakes));
      if (steps_.empty()) return;
      step = std::move(steps_.front());
      steps_.pop_front();
      step_began_ = options_.clock();
    }
    step();
  }
}

}  // namespace kamino::logs
