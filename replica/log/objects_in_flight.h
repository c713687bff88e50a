// The objects in flight at this node: those that the log entries in (cleaned,
// received] of its ring write. All nodes agree about other objects
// (docs/design/reads.md).
//
// Without reads it costs nothing: appended entries are examined at the next
// read.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_LOG_OBJECTS_IN_FLIGHT_H_
#define KAMINO_REPLICA_LOG_OBJECTS_IN_FLIGHT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/transaction.h"
#include "replica/log/log_ring.h"

namespace kamino::replica {

class ObjectsInFlight {
 public:
  // Objects share so many places: an object that is not in flight may be taken
  // for one that is.
  static constexpr size_t kPlaces = size_t{1} << 13;
  // Entries that one call of CatchUp examines.
  static constexpr int kEntriesAtOnce = 4096;

  // The ring must outlive it.
  explicit ObjectsInFlight(const LogRing* ring) : ring_(ring) {}

  // Examines entries appended since. False: there are more, or one cannot be
  // read; then nothing is known.
  bool CatchUp();

  // After CatchUp, while nothing is appended. False: no entry in flight writes
  // it; true: one may.
  bool MayHave(engine::ObjectId object) const;

 private:
  static size_t PlaceOf(engine::ObjectId object);

  const LogRing* const ring_;
  // By place, the last mutation of the last entry that writes an object there;
  // empty: there was no read yet.
  std::vector<uint64_t> last_;
  uint64_t seen_ = 0;      // entries up to this mutation are included
  uint64_t rewrites_ = 0;  // of the ring, at the last CatchUp
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LOG_OBJECTS_IN_FLIGHT_H_
