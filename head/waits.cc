// Waiting times of requests at the head, and requests that have waited too
// long.
#include <algorithm>
#include <utility>

#include "head/admission.h"

namespace kamino::head {
namespace {

// The wait before execution is recorded for one request in so many: that costs
// half as much as all its other counters.
constexpr uint32_t kAdmitOneOf = 16;

// Requests of a batch between two reads of the clock. A request takes
// microseconds on memory, and several syncs of the medium on a disk. A request
// that touches many objects, such as one that opens a session, is followed by a
// read at once.
constexpr size_t kRequestsALook = 4;
constexpr uint64_t kTouchedALook = 64;

}  // namespace

void Admission::Park(engine::ObjectId object, Request request, absl::Time now) {
  request.parked = now;
  request.is_parked = true;
  waiting_.Park(object, std::move(request));
}

void Admission::TellHowLongItWaited(Request* request, absl::Time now) {
  RequestWaits& waits = request->waits;
  if (!std::exchange(waits.executed, true)) {
    waits.began = now;
    // The head's own requests do not wait.
    if (++executed_ % kAdmitOneOf == 0 && options_.stages != nullptr &&
        waits.came != absl::InfiniteFuture()) {
      options_.stages->Took(replica::Stage::kAdmit, waits.admit());
    }
  }
  if (!request->is_parked) return;
  const absl::Duration lock = EndParking(request, now);
  if (options_.stages != nullptr) {
    options_.stages->Took(replica::Stage::kLock, lock);
  }
}

absl::Duration Admission::EndParking(Request* request, absl::Time now) {
  const absl::Duration lock = now - request->parked;
  request->is_parked = false;
  request->waits.lock += lock;
  ++request->waits.parked;
  return lock;
}

// --- For reports of slow operations.

void Admission::NoteTurn(absl::Time now) {
  now_ = now;
  turn_is_long_ = false;
  look_at_ = kTouchedALook;
  tells_slow_ =
      options_.stages != nullptr && options_.stages->last_entry() != nullptr;
  const uint64_t acknowledged = core_->acknowledged();
  if (!tells_slow_ || !core_->replicates()) return;
  if (acknowledged <= acknowledged_) return;
  for (auto it = in_flight_.upper_bound(acknowledged_);
       it != in_flight_.end() && it->first <= acknowledged; ++it) {
    it->second.acknowledged = now;
  }
  acknowledged_ = acknowledged;
}

void Admission::NoteTime() {
  if (options_.clock == nullptr || turn_is_long_) return;
  turn_is_long_ = options_.clock() - now_ >= options_.max_turn;
}

bool Admission::TurnEndsBefore(size_t i) {
  if (i % kRequestsALook == 0 || touched_ >= look_at_) {
    NoteTime();
    look_at_ = touched_ + kTouchedALook;
  }
  return turn_is_over();
}

bool Admission::UndoCopyIsFarBehind() const {
  return store_->LackedByBackup() >= options_.max_unpropagated;
}

void Admission::NoteEntry(uint64_t last, uint32_t together) {
  NoteTime();
  const auto found = in_flight_.find(last);
  if (!tells_slow_ || found == in_flight_.end()) return;
  const replica::StageWatch::Entry* const entry = options_.stages->last_entry();
  if (entry == nullptr) return;  // gone already
  found->second.together = together;
  found->second.entry = *entry;
}

RequestTimes Admission::HeadTimes::Times() const {
  RequestTimes times;
  times.waits = *waits_;
  times.answered = answered;
  if (flight_ == nullptr || flight_->together == 0) return times;
  const auto since = [this](absl::Time then) {
    return std::max(absl::ZeroDuration(), then - flight_->entry.ended);
  };
  times.together = flight_->together;
  times.execute = flight_->entry.execute;
  times.persist = flight_->entry.persist;
  if (flight_->acknowledged != absl::InfiniteFuture()) {
    times.hop = since(flight_->acknowledged);
  }
  times.complete = since(answered);
  return times;
}

void Admission::OnTick(absl::Time now) {
  now_ = now;
  SubmitUnrecorded();
  CloseSilentSessions(now);
  const auto expired = [this, now](const Request& request) {
    return !IsAnnounced(request) && !CheckAwaited(request, now).ok();
  };
  for (Request& request : waiting_.TakeIf(expired)) {
    if (request.is_parked) EndParking(&request, now);
    Answer(request, {CheckAwaited(request, now), "", 0});
  }
}

}  // namespace kamino::head
