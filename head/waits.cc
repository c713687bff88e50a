// How long requests wait at the head, and which of them have waited too long.
#include <algorithm>
#include <utility>

#include "head/admission.h"

namespace kamino::head {

void Admission::Park(engine::ObjectId object, Request request, absl::Time now) {
  request.parked = now;
  waiting_.Park(object, std::move(request));
}

void Admission::TellHowLongItWaited(Request* request, absl::Time now) {
  RequestWaits& waits = request->waits;
  if (waits.admit == absl::InfiniteDuration() &&
      waits.came != absl::InfiniteFuture()) {
    waits.admit = now - waits.came;
    if (options_.stages != nullptr) {
      options_.stages->Took(replica::Stage::kAdmit, waits.admit);
    }
  }
  if (request->parked == absl::InfiniteFuture()) return;
  const absl::Duration lock =
      now - std::exchange(request->parked, absl::InfiniteFuture());
  waits.lock += lock;
  ++waits.parked;
  if (options_.stages != nullptr) {
    options_.stages->Took(replica::Stage::kLock, lock);
  }
}

// --- For those who tell of slow ones.

void Admission::NoteTurn(absl::Time now) {
  now_ = now;
  tells_ =
      options_.stages != nullptr && options_.stages->last_entry() != nullptr;
  const uint64_t acknowledged = core_->acknowledged();
  if (!tells_ || !core_->replicates() || acknowledged <= acknowledged_) return;
  for (auto it = in_flight_.upper_bound(acknowledged_);
       it != in_flight_.end() && it->first <= acknowledged; ++it) {
    it->second.acknowledged = now;
  }
  acknowledged_ = acknowledged;
}

void Admission::NoteEntry(uint64_t last, uint32_t together) {
  const auto found = in_flight_.find(last);
  if (!tells_ || found == in_flight_.end()) return;
  const replica::StageWatch::Entry* const entry = options_.stages->last_entry();
  if (entry == nullptr) return;  // not any more
  found->second.together = together;
  found->second.entry = *entry;
}

RequestTimes Admission::TimesOf(const RequestWaits& waits,
                                const Flight* flight) const {
  RequestTimes times;
  times.waits = waits;
  times.answered = now_;
  if (flight == nullptr || flight->together == 0) return times;
  const auto since = [flight](absl::Time then) {
    return std::max(absl::ZeroDuration(), then - flight->entry.ended);
  };
  times.together = flight->together;
  times.execute = flight->entry.execute;
  times.persist = flight->entry.persist;
  if (flight->acknowledged != absl::InfiniteFuture()) {
    times.hop = since(flight->acknowledged);
  }
  times.complete = since(now_);
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
    if (request.parked != absl::InfiniteFuture()) {
      request.waits.lock += now - request.parked;
      ++request.waits.parked;
    }
    Answer(request, {CheckAwaited(request, now), "", 0});
  }
}

}  // namespace kamino::head
