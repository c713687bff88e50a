// The first line of Archapt's log area: where its undo ring begins, and what
// has been committed (archapt_format.h).
#ifndef KAMINO_LAB_ARCHAPT_UNDO_HEADER_H_
#define KAMINO_LAB_ARCHAPT_UNDO_HEADER_H_

#include <cstdint>
#include <optional>

#include "engine/pmem/region.h"
#include "lab/archapt/archapt_format.h"

namespace kamino::engine {

// One thread stores at a time. The region must outlive this.
class UndoHeader {
 public:
  // As in archapt_format::LogHeader.
  struct Words {
    uint64_t tail = 0;
    uint64_t watermark = 0;
    uint64_t newest_commit = 0;
    uint64_t given = 0;
  };

  UndoHeader(Region* region, archapt_format::LogHeader* header, uint64_t seed)
      : region_(region), header_(header), seed_(seed) {}

  // Whether the log was never used.
  bool is_new() const { return header_->tail == 0; }
  // Nothing: damaged.
  std::optional<Words> Read() const;

  // --- Durable on return.

  void StoreWatermark(uint64_t watermark);
  void StoreTail(uint64_t tail, uint64_t newest_commit);
  // After a recovery. The tail becomes durable last: records count until then.
  void StoreRecovered(uint64_t watermark, uint64_t given, uint64_t tail);

 private:
  void Put(uint64_t* word, uint64_t number, uint64_t seed);
  void Persist();

  Region* const region_;
  archapt_format::LogHeader* const header_;
  const uint64_t seed_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_UNDO_HEADER_H_
