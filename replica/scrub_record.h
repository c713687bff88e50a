// What a node remembers of where its heap comes from, and of what is in doubt
// of it, in the heap's first page (docs/formats/scrub.md).
//
// Not thread-safe.
#ifndef KAMINO_REPLICA_SCRUB_RECORD_H_
#define KAMINO_REPLICA_SCRUB_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/pmem/region.h"

namespace kamino::replica {

struct ScrubState {
  // The heap is a copy of another node's, and not all of it was borne out
  // since: its digests and its source's are one vote.
  bool copied = false;
  std::string source;  // that node's id; "": it is not known
  // A range of which nobody can tell who holds what was written.
  std::optional<uint64_t> doubt;
};

class ScrubRecord {
 public:
  // At that offset of the region, which must outlive the record. Where nothing
  // was ever written: the heap is no copy, and nothing is in doubt. Where a
  // line cannot be read, be it that a crash came while it was written: a copy
  // of nobody knows whose.
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

#endif  // KAMINO_REPLICA_SCRUB_RECORD_H_
