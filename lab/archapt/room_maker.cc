#include "lab/archapt/room_maker.h"

#include <algorithm>

#include "base/clock.h"
#include "lab/explore.h"

namespace kamino::engine {

bool RoomMaker::MakeRoom(int attempt) {
  switch (attempt) {
    case 0:
      advancer_.Advance();
      return true;
    case 1:
      Reached(LabBranch::kArchaptForcesForRoom);
      advancer_.ForceHalf();
      return true;
    case 2:
      advancer_.Force(backlog_.commits.last());
      return true;
    case 3:
      AwaitOthers();
      return true;
    default:
      return false;
  }
}

void RoomMaker::FreeBlocks() {
  advancer_.Force(backlog_.commits.last());
  matrices_.DissolveAll();
  AwaitOthers();
}

bool RoomMaker::RoomIsComing(uint64_t sequence) const {
  if (progress_.durable() < sequence) return true;
  MutexLock lock(&backlog_.mutex);
  return backlog_.matrices.any_dissolving();
}

void RoomMaker::AwaitOthers() {
  const uint64_t last = backlog_.commits.last();
  const absl::Time until = MonotonicNow() + log_wait_;
  while (RoomIsComing(last)) {
    const absl::Duration left = until - MonotonicNow();
    if (left <= absl::ZeroDuration()) break;
    Reached(LabBranch::kArchaptAwaitsOthers);
    progress_.Await(std::min(left, Advancer::kForceAgain),
                    [&] { return !RoomIsComing(last); });
    // A thread that drains a flush neither commits it physically nor signals
    // it.
    if (progress_.durable() < last) advancer_.Force(last);
  }
  // A pass of others that has made it durable gives room back at its end, so it
  // is waited for.
  advancer_.AwaitPass();
}

}  // namespace kamino::engine
