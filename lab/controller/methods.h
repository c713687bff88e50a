// The processor's operations for a program's stores, by each of the methods
// that the paper compares (WrAP, section 5.1), and one of our own.
#ifndef KAMINO_LAB_CONTROLLER_METHODS_H_
#define KAMINO_LAB_CONTROLLER_METHODS_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lab/controller/machine.h"
#include "lab/controller/trace.h"

namespace kamino::bench::controller {

enum class Method {
  // "Begin and end are no-ops, and a store simply copies data": nothing lasts.
  kCached,
  // Each store of a wrap is pushed to SCM; one fence, when the wrap closes.
  kNonAtomic,
  // "The first store to each location is preceded by" an undo record that is
  // written "synchronously (flushing it followed by a PCOMMIT)"; and "each
  // write to SCM and log requiring a PCOMMIT" (section 5.3): the store as well.
  // Each store counts as one location. This makes the rival weak.
  kUndo,
  // Ours: the records of a wrap share a fence, its stores another, its end a
  // third. For callers that know beforehand what they store.
  kUndoGrouped,
  // Stores go to the cache and to a log that bypasses it; one fence.
  kWrap,
};
inline constexpr Method kMethods[] = {Method::kCached, Method::kNonAtomic,
                                      Method::kUndo, Method::kUndoGrouped,
                                      Method::kWrap};

// "cached", "non-atomic", "undo", "undo-grouped", "wrap".
absl::string_view MethodName(Method method);

enum class OpKind : uint8_t {
  kBegin,      // a piece of work
  kSpend,      // `value` picoseconds
  kLoad,       // the word `value`
  kStore,      // the same
  kFlush,      // the line `value`, if it was changed, goes to memory (CLWB)
  kLog,        // appends `value` bytes to the log, past the cache (MOVNT)
  kLogStored,  // appends a record of the last kStore to the log, and to the
               // wrap's bucket
  kPushLog,    // the log's last line goes out, though it is not full
  kNewLog,     // the log goes on with a new line
  kFence,      // waits until all that this core flushed and logged is durable
               // (SFENCE, PCOMMIT)
  kOpenWrap,   // told to the controller
  kCloseWrap,  // the same
};

struct Op {
  OpKind kind;
  uint64_t value = 0;

  friend bool operator==(const Op& a, const Op& b) {
    return a.kind == b.kind && a.value == b.value;
  }
};

// Appends what `events` come to: those of a wrap, kOpen to kClose, or a single
// one that is outside of wraps.
void Translate(Method method, const Machine& machine,
               absl::Span<const Event> events, std::vector<Op>* ops);

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_METHODS_H_
