// How long requests wait at the head, and which of them have waited too long.
#include <utility>

#include "head/admission.h"

namespace kamino::head {

void Admission::Park(engine::ObjectId object, Request request, absl::Time now) {
  request.parked = now;
  waiting_.Park(object, std::move(request));
}

void Admission::TellHowLongItWaited(Request* request, absl::Time now) {
  if (options_.stages == nullptr) return;
  for (auto [since, stage] :
       {std::make_pair(&request->came, replica::Stage::kAdmit),
        std::make_pair(&request->parked, replica::Stage::kLock)}) {
    const absl::Time began = std::exchange(*since, absl::InfiniteFuture());
    if (began == absl::InfiniteFuture()) continue;
    options_.stages->Took(stage, now - began);
  }
}

void Admission::OnTick(absl::Time now) {
  SubmitUnrecorded();
  CloseSilentSessions(now);
  const auto expired = [this, now](const Request& request) {
    return !IsAnnounced(request) && !CheckAwaited(request, now).ok();
  };
  for (Request& request : waiting_.TakeIf(expired)) {
    Answer(request, {CheckAwaited(request, now), "", 0});
  }
}

}  // namespace kamino::head
