// One transaction's part of REWIND's log: appends its records, waiting for room
// where there is none, and rolls back what they say.
#ifndef KAMINO_LAB_REWIND_OWN_LOG_H_
#define KAMINO_LAB_REWIND_OWN_LOG_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/transaction.h"
#include "lab/rewind/in_place_writer.h"
#include "lab/rewind/log_record.h"
#include "lab/rewind/rewind_log.h"
#include "lab/rewind/rewind_options.h"

namespace kamino::engine {

// Not thread-safe.
class OwnLog {
 public:
  // Both must outlive this.
  OwnLog(RewindLog* log, const RewindOptions* options)
      : log_(log), options_(options) {}

  // Append as RewindLog does. Where it has no room, they make a checkpoint or
  // let others run, and try again until `wait`, or log_wait, is over.
  absl::Status Append(absl::Span<const Draft> drafts) {
    return Append(drafts, options_->log_wait);
  }
  absl::Status Append(absl::Span<const Draft> drafts, absl::Duration wait);
  absl::Status AppendEnd(absl::Span<const Draft> drafts, uint64_t sequence);

  // The block is free once the records are gone.
  void KeepBlock(ObjectId block) { own_.freed.push_back(block); }

  // Puts the old bytes back, newest first, and appends the end. False: nothing
  // was appended, and nothing is left to do.
  bool RollBack(const InPlaceWriter& writer);

  // It has its end, and everything is stored: the records go, at once or with a
  // checkpoint. Returns the blocks that are free at once.
  std::vector<ObjectId> Leave(bool committed);

 private:
  absl::Status WithRoom(absl::Duration wait,
                        absl::FunctionRef<absl::Status()> append);
  // Names the updates as rolled back, and puts their old bytes back.
  void Undo(absl::Span<const LogRecord* const> updates,
            const InPlaceWriter& writer);

  RewindLog* const log_;
  const RewindOptions* const options_;
  OwnRecords own_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_OWN_LOG_H_
