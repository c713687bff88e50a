// How much Archapt believes of the cache, and how it arranges what it skips.
// The medium records only whether the store is unchecked (in the heap's label)
// and the first queue_bytes (by the log's size). Other options may differ at
// each opening.
#ifndef KAMINO_LAB_ARCHAPT_ARCHAPT_OPTIONS_H_
#define KAMINO_LAB_ARCHAPT_ARCHAPT_OPTIONS_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace kamino::engine {

inline constexpr char kArchaptName[] = "archapt";

struct ArchaptOptions {
  // Length of the queue: the last level cache's size, in bytes (section 5.1).
  // With private caches that do not share lines with it, theirs as well.
  uint64_t queue_bytes = 19712u << 10;

  // Objects of a matrix (section 3.3: N), 2 to 32. There are as many matrices
  // as the log has slots: one for each 2,560 bytes of it, 15,769 by default, so
  // that 252,304 objects are sealed at once. What would be one more is flushed;
  // a longer queue_bytes makes for a larger log.
  size_t columns = 16;

  // Only objects of which sums have fewer lines to flush than they have
  // themselves are put into matrices; the rest are flushed when they leave the
  // queue. Else all are.
  bool gainful_only = true;

  // An object that has left the queue, and waits for others of its size to make
  // a matrix with, is flushed after this many Advances; later commits wait as
  // long. A mover advances once in a millisecond at most, and only while
  // transactions commit.
  uint64_t matrix_wait = 256;

  // AwaitDurable first waits this long for other transactions to push objects
  // out of the queue; then it has them flushed.
  absl::Duration patience = absl::Milliseconds(10);

  // How long a transaction waits for room in the log or the heap that others
  // are about to give back: flushes that they have not drained yet, and
  // matrices that they dissolve. Not negative, nor is patience.
  absl::Duration log_wait = absl::Milliseconds(100);

  // Only for a bench that measures the cost of checking: records have no
  // checks, and only empty slots of matrices are written, in a new heap, so no
  // crash is survived. Such heaps have a label of their own, which no other
  // store opens.
  bool unchecked = false;
};

// Label of a heap whose store has those options.
absl::string_view ArchaptLabel(const ArchaptOptions& options);

// Size of the log area for a region of that size: undo records of as many old
// bytes as the queue holds, and as much again, but a quarter of the region and
// 1 GiB at most. A multiple of 4,096.
size_t ArchaptLogBytes(const ArchaptOptions& options, size_t region_bytes);

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_ARCHAPT_OPTIONS_H_
