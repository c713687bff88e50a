#include "replica/log/objects_in_flight.h"

#include <algorithm>

#include "absl/status/status.h"
#include "glog/logging.h"
#include "replica/log/log_entry.h"

namespace kamino::replica {

size_t ObjectsInFlight::PlaceOf(engine::ObjectId object) {
  static_assert((kPlaces & (kPlaces - 1)) == 0);
  // Ids are multiples of 64, often at equal distances.
  return (object * 0x9e3779b97f4a7c15) >> 51;
}

bool ObjectsInFlight::CatchUp() {
  static_assert(kPlaces == uint64_t{1} << (64 - 51));
  if (last_.empty() || rewrites_ != ring_->space().rewrites()) {
    last_.assign(kPlaces, 0);
    seen_ = 0;
    rewrites_ = ring_->space().rewrites();
  }
  seen_ = std::max(seen_, ring_->cleaned());
  for (int i = 0; i < kEntriesAtOnce && seen_ < ring_->received(); ++i) {
    const LogEntry entry = ring_->EntryOf(seen_ + 1);
    const absl::Status whole =
        entry.VisitWrittenObjects([&](engine::ObjectId object) {
          last_[PlaceOf(object)] = entry.last();
        });
    if (!whole.ok()) {
      LOG_EVERY_N(ERROR, 1000) << "mutation " << entry.first()
                               << " of the ring: " << whole.message();
      return false;
    }
    seen_ = entry.last();
  }
  return seen_ == ring_->received();
}

bool ObjectsInFlight::MayHave(engine::ObjectId object) const {
  return last_[PlaceOf(object)] > ring_->cleaned();
}

}  // namespace kamino::replica
