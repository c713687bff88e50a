// A transaction's slot in the log, which it takes with its first record.
//
// Not thread-safe.
#ifndef KAMINO_ENGINE_BASELINES_LOG_SLOT_H_
#define KAMINO_ENGINE_BASELINES_LOG_SLOT_H_

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/baselines/transaction_log.h"
#include "engine/pmem/region.h"
#include "engine/transaction.h"

namespace kamino::engine {

class LogSlot {
 public:
  // `region` is the log's. Both outlive this.
  LogSlot(TransactionLog* log, Region* region) : log_(log), region_(region) {}

  bool taken() const { return slot_.has_value(); }

  // Adds a record. kResourceExhausted: no slot is free, or the heap has no room
  // for a longer one.
  absl::Status Append(const Intent& intent, const std::byte* bytes);

  // Retires the slot, durably, if it is taken.
  void Retire();

  // --- While it is taken.

  void AppendMark() { log_->AppendMark(*slot_); }
  absl::StatusOr<TransactionLog::Contents> Read() const {
    return log_->Read(*slot_);
  }

 private:
  TransactionLog* const log_;
  Region* const region_;
  std::optional<TransactionLog::Slot> slot_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_LOG_SLOT_H_
