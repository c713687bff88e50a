// A node's record of its heap's origin and of an unresolved range, in the
// heap's first page (docs/formats/scrub.md).
//
// Not thread-safe.
#ifndef KAMINO_REPLICA_STATE_SCRUB_RECORD_H_
#define KAMINO_REPLICA_STATE_SCRUB_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/pmem/region.h"

namespace kamino::replica {

struct ScrubState {
  // The heap is a copy of another node's, and not all of it was confirmed
  // since: its digests and its source's are one vote.
  bool copied = false;
  std::string source;  // that node's id; "": unknown
  // A range for which it is undecided which member is right.
  std::optional<uint64_t> unresolved;
};

class ScrubRecord {
 public:
  // The record at that offset of the region, which must outlive it. If it was
  // never written: the heap is no copy, and nothing is unresolved. If a line
  // cannot be read, for example after a crash during its write: a copy of
  // unknown source.
  ScrubRecord(engine::Region* region, size_t offset);

  const ScrubState& state() const { return state_; }
  // Durable on return.
  void Update(const ScrubState& state);

 private:
  engine::Region* const region_;
  const size_t offset_;
  ScrubState state_;
  uint64_t serial_ = 0;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_SCRUB_RECORD_H_
