// Reads only objects that are not in flight: those that a node other than the
// tail may serve by itself (docs/design/reads.md).
#ifndef KAMINO_REPLICA_STATE_CLEAN_READER_H_
#define KAMINO_REPLICA_STATE_CLEAN_READER_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/transaction.h"
#include "replica/log/objects_in_flight.h"

namespace kamino::replica {

class CleanReader final : public engine::Reader {
 public:
  // Both must outlive it. `in_flight` has caught up, and nothing is appended to
  // its ring meanwhile.
  CleanReader(engine::Reader* reader, const ObjectsInFlight* in_flight)
      : reader_(reader), in_flight_(in_flight) {}

  // kFailedPrecondition (REASON_NOT_CLEAN): the object may be in flight. Other
  // errors as the reader's.
  absl::StatusOr<absl::Span<const std::byte>> Read(
      engine::ObjectId id) override;
  void Prefetch(engine::ObjectId id) const override { reader_->Prefetch(id); }

  // Whether it met an object that may be in flight: then the result of the read
  // is not valid.
  bool met_in_flight() const { return met_in_flight_; }

 private:
  engine::Reader* const reader_;
  const ObjectsInFlight* const in_flight_;
  bool met_in_flight_ = false;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_CLEAN_READER_H_
