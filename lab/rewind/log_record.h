// Records of REWIND's log in memory: to be written, written, and found by
// recovery. Values.
#ifndef KAMINO_LAB_REWIND_LOG_RECORD_H_
#define KAMINO_LAB_REWIND_LOG_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/transaction.h"
#include "lab/rewind/record_index.h"
#include "lab/rewind/rewind_format.h"

namespace kamino::engine {

// A change that is to be logged.
struct Draft {
  rewind_format::RecordType type = rewind_format::RecordType::kUpdate;
  uint64_t address = 0;  // in the region
  uint32_t length = 0;   // bytes
  // Null: not logged. Without old bytes it is not rolled back, without new ones
  // not done again.
  const std::byte* old_bytes = nullptr;
  const std::byte* new_bytes = nullptr;
};

// A record in the log, as its transaction remembers it.
struct LogRecord {
  Indexed indexed;
  rewind_format::RecordType type = rewind_format::RecordType::kUpdate;
  uint64_t address = 0;
  uint32_t length = 0;
  const std::byte* old_bytes = nullptr;  // in the log; null: none
  size_t units = 0;
  ObjectId block = kNullObject;  // of the heap, that it lies in; else none
};

// A transaction's records in the log.
struct OwnRecords {
  uint64_t transaction = 0;  // 0: nothing yet
  std::vector<LogRecord> records;
  // Units kept for what ends it, one each, with places in the index.
  std::vector<uint64_t> kept;
  std::optional<LogRecord> end;
  uint64_t sequence = 0;  // the end's
  // Blocks that are free once the records are gone.
  std::vector<ObjectId> freed;
};

// A record as recovery finds it.
struct FoundRecord {
  const rewind_format::RecordHeader* header = nullptr;
  uint64_t offset = 0;
  const std::byte* old_bytes = nullptr;  // null: none
  const std::byte* new_bytes = nullptr;  // null: none
  rewind_format::Compensation compensation = {};
  uint64_t sequence = 0;  // of an end
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_LOG_RECORD_H_
