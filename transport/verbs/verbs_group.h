// The other half of the seam over libibverbs (device.h): pairs that send to
// each other and write into nobody's memory. Many of them make a group, with
// one protection domain, one completion queue and one shared receive queue.
#ifndef KAMINO_TRANSPORT_VERBS_VERBS_GROUP_H_
#define KAMINO_TRANSPORT_VERBS_VERBS_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/verbs/device.h"

namespace kamino::transport {

struct GroupSize {
  int max_pairs = 0;
  int receives = 0;  // posted and not complete, for each of max_pairs
  int sends = 0;     // likewise, of each pair
  size_t max_inline = 0;
};

// Where one SEND of any peer of the group lands.
struct GroupReceive {
  uint64_t id = 0;  // comes back in the completion; below 2^63, as all ids
  absl::Span<std::byte> into;
  uint32_t key = 0;
};

struct GroupSend {
  uint64_t id = 0;
  absl::Span<const std::byte> from;
  uint32_t key = 0;
  bool signaled = false;  // otherwise it completes silently unless it fails
  bool inlined = false;   // `from` may change when posted
};

struct GroupCompletion {
  uint32_t pair = 0;  // its number
  bool received = false;
  uint64_t id = 0;
  size_t bytes = 0;  // of what was received
  // Null, or what went wrong; the pair is in error then. A receive that comes
  // back with it holds nothing.
  const char* error = nullptr;
};

// A queue pair of a group. No peer can read or write memory through it: all it
// can do is fill a receive. Thread-safe.
class GroupPair {
 public:
  // Destroys it. A receive that was being filled is lost to the group unless
  // the pair was stopped and has drained (DeviceEvent::kPairDrained; soft-RoCE
  // tells of no such event, and needs some moments).
  virtual ~GroupPair() = default;

  virtual uint32_t number() const = 0;
  virtual size_t max_inline() const = 0;
  virtual absl::Status Connect(const GidEntry& own_gid, const PairAddress& own,
                               const PairAddress& peer,
                               const PairPatience& patience) = 0;
  virtual absl::Status Send(const GroupSend& send) = 0;
  // Nothing arrives or leaves by it any more; what was posted is flushed.
  virtual void Stop() = 0;
};

// Thread-safe but for Poll, Arm and TakeEvents, which are one thread's. Its
// pairs keep it.
class VerbsGroup {
 public:
  virtual ~VerbsGroup() = default;

  // At most what was asked for; less where the device has smaller queues.
  virtual int max_pairs() const = 0;
  // kResourceExhausted: over the device's limits.
  virtual absl::StatusOr<std::unique_ptr<GroupPair>> CreatePair() = 0;
  // The local key, which no peer can use. `memory` must outlive the group.
  // kResourceExhausted: over the process's limit of locked memory.
  virtual absl::StatusOr<uint32_t> Register(absl::Span<std::byte> memory) = 0;
  // All or, at an error, any number of the first.
  virtual absl::Status PostReceives(
      absl::Span<const GroupReceive> receives) = 0;

  // As VerbsPair's.
  virtual absl::StatusOr<size_t> Poll(
      absl::Span<GroupCompletion> completions) = 0;
  virtual absl::Status Arm() = 0;
  virtual int event_fd() const = 0;
  virtual void TakeEvents() = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_VERBS_GROUP_H_
