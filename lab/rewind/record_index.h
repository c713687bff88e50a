// Where records are found again after a crash: a list, or a tree over a list.
#ifndef KAMINO_LAB_REWIND_RECORD_INDEX_H_
#define KAMINO_LAB_REWIND_RECORD_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace kamino::engine {

// A record, and where the index has put it.
struct Indexed {
  uint64_t record = 0;  // offset
  uint64_t transaction = 0;
  uint64_t id = 0;
  uint64_t place = 0;  // the index's own
};

// Not thread-safe. Before Empty there is only what recovery does: Finish, Scan.
class RecordIndex {
 public:
  virtual ~RecordIndex() = default;

  // Keeps space for so many more records; false: there is none, and nothing
  // has changed. Unreserve gives it back.
  virtual bool Reserve(size_t records) = 0;
  virtual void Unreserve(size_t records) = 0;

  // Adds records that space is reserved for and that are flushed, and says
  // where they are. Durable on return. A crash on the way leaves any of them;
  // but with `in_order`, a record only with all before it.
  virtual void Append(absl::Span<Indexed> records, bool in_order) = 0;

  // Durable on return; a crash on the way leaves any of them.
  virtual void Remove(absl::Span<const Indexed> records) = 0;

  // Recovery: brings what was under way to an end. kDataLoss: damaged.
  virtual absl::Status Finish() = 0;
  // The offsets of all records, in no order. kDataLoss: damaged.
  virtual absl::StatusOr<std::vector<uint64_t>> Scan() const = 0;
  // Durably none is left, at once.
  virtual void Empty() = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_RECORD_INDEX_H_
