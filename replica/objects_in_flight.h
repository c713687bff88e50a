// Which objects are in flight at this node: those that the log entries of its
// ring's (cleaned, received] write. What others say of an object that is not,
// they say alike (docs/use/reads.md).
//
// Costs who writes nothing: what was appended is looked at when somebody asks.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_OBJECTS_IN_FLIGHT_H_
#define KAMINO_REPLICA_OBJECTS_IN_FLIGHT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/transaction.h"
#include "replica/log_ring.h"

namespace kamino::replica {

class ObjectsInFlight {
 public:
  // Objects share so many places: one that is not in flight may be taken for
  // one that is.
  static constexpr size_t kPlaces = size_t{1} << 13;
  // Entries that one call of CatchUp looks at.
  static constexpr int kEntriesAtOnce = 4096;

  // The ring must outlive it.
  explicit ObjectsInFlight(const LogRing* ring) : ring_(ring) {}

  // Looks at what was appended since. False: there is more of it, or it cannot
  // be read; then nothing is known.
  bool CatchUp();

  // After CatchUp, while nothing is appended. False: no entry in flight writes
  // it; true: one may.
  bool MayHave(engine::ObjectId object) const;

 private:
  static size_t PlaceOf(engine::ObjectId object);

  const LogRing* const ring_;
  // By place, the last mutation of the last entry that writes an object of it;
  // empty: nobody has asked yet.
  std::vector<uint64_t> last_;
  uint64_t seen_ = 0;      // entries up to this mutation are in there
  uint64_t rewrites_ = 0;  // of the ring, when it was last looked at
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_OBJECTS_IN_FLIGHT_H_
