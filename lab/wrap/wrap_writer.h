// Writes wraps to their pieces of the log: records, links between pieces, and
// the marker that makes a wrap count (lab/docs/wrap.md).
#ifndef KAMINO_LAB_WRAP_WRAP_WRITER_H_
#define KAMINO_LAB_WRAP_WRAP_WRITER_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "engine/pmem/region.h"
#include "lab/wrap/wrap.h"
#include "lab/wrap/wrap_layout.h"

namespace kamino::engine {

// Immutable; thread-safe, as far as each wrap is one thread's. What it writes
// is flushed, and not drained.
class WrapWriter {
 public:
  explicit WrapWriter(const WrapLayout& layout)
      : layout_(layout), region_(layout.region()) {}

  // Adds a record of at most kMostRecordBytes, which the wrap has room for, and
  // writes whole lines of the log.
  void Append(Wrap* wrap, uint64_t address,
              absl::Span<const std::byte> bytes) const;
  // Writes the rest of the records.
  void Finish(Wrap* wrap) const { WriteLines(wrap, /*all=*/true); }
  // Writes the marker of a wrap that has drawn its sequence. `durable`: all
  // closes up to there are.
  void WriteMarker(const Wrap& wrap, uint64_t durable) const;

 private:
  // Writes what is appended to the pieces: whole lines, or all of it.
  void WriteLines(Wrap* wrap, bool all) const;

  const WrapLayout layout_;
  Region* const region_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_WRAP_WRAP_WRITER_H_
