// Options of REWIND: the paper's choices, and ours.
#ifndef KAMINO_LAB_REWIND_REWIND_OPTIONS_H_
#define KAMINO_LAB_REWIND_REWIND_OPTIONS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace kamino::engine {

// How records, or with two layers the words of their tree, are listed.
enum class LogForm {
  kSimple,     // section 3.2: a node of a doubly linked list for each
  kOptimized,  // section 3.3: cells of buckets
  kBatch,      // the same, several at a time
};

struct RewindOptions {
  int layers = 1;      // 1, or 2: records are in a tree as well
  bool force = false;  // data is durable before the end, else by checkpoints
  LogForm form = LogForm::kBatch;
  // The options from here on are not on media, and may change between openings.
  size_t bucket = 1000;  // cells; fewer where the log is small
  size_t group = 8;      // records that share drains, of form batch
  // A checkpoint is due after so many records, without force.
  size_t checkpoint_records = 10000;
  // One layer: a rollback, or clearing at commit, goes through the whole log
  // for the records, as in sections 4.2 and 4.3, although the store remembers
  // where they are. For benches.
  bool scans = false;
  // With force: records of committed transactions go at once; else at the next
  // Checkpoint, as they do without force.
  bool clears_at_commit = true;
  // How long a transaction waits for others to end when the log is full. Not
  // negative.
  absl::Duration log_wait = absl::Milliseconds(100);

  // "rewind-1-noforce-batch"; the heap's label.
  std::string Name() const;

  // Whether the records of ended transactions stay until a checkpoint.
  bool keeps_finished() const { return !force || !clears_at_commit; }
};

// kInvalidArgument: an option is out of its bounds.
absl::Status CheckRewind(const RewindOptions& options);

// Options of that name, or of "rewind", which is the default.
std::optional<RewindOptions> RewindNamed(absl::string_view name);

// The twelve.
std::vector<RewindOptions> AllRewinds();

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_REWIND_OPTIONS_H_
