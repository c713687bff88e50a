// The accesses of a program's threads to persistent memory, as input of the
// memory controller's model: which stores, in which wraps (WrAP, section 3),
// between which loads. A trace does not say how a machine executes them
// (methods.h). lab/docs/memory_trace.md describes a trace as a file.
#ifndef KAMINO_LAB_CONTROLLER_TRACE_H_
#define KAMINO_LAB_CONTROLLER_TRACE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kamino::bench::controller {

enum class EventKind : uint8_t {
  kBegin,    // a piece of work, up to the next; its arrival may be waited for
  kOpen,     // a wrap, which is failure-atomic; wraps do not nest
  kClose,    // the wrap
  kLoad,     // `size` bytes from `address`
  kStore,    // the same; transactional within a wrap, else ordinary
  kFlush,    // the lines of these bytes are to go to memory
  kDrain,    // waits until they are there
  kCompute,  // `size` nanoseconds of something else
};
inline constexpr int kEventKinds = 8;

struct Event {
  EventKind kind = EventKind::kBegin;
  uint32_t size = 0;
  uint64_t address = 0;

  friend bool operator==(const Event& a, const Event& b) {
    return a.kind == b.kind && a.size == b.size && a.address == b.address;
  }
};

// Limit of one access. A larger one is split into several.
inline constexpr uint32_t kMaxAccessBytes = 4u << 20;
inline constexpr uint64_t kMaxAddress = uint64_t{1} << 46;
inline constexpr int kMaxThreads = 128;

struct Trace {
  std::vector<std::vector<Event>> threads;
};

// As in a file: "begin", "open", ...
absl::string_view EventName(EventKind kind);
// Whether events of this kind have an address.
bool HasAddress(EventKind kind);

// kInvalidArgument, with the thread and the event: a wrap that is opened within
// another, closed without having been opened, or left open, also by a kBegin;
// bounds above that do not hold.
absl::Status CheckTrace(const Trace& trace);

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_TRACE_H_
