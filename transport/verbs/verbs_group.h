// The second half of the layer over libibverbs (device.h): pairs that only send
// to each other and write into no memory. Many of them make a group, with one
// protection domain, one completion queue and one shared receive queue.
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

// Where one SEND from any peer of the group lands.
struct GroupReceive {
  uint64_t id = 0;  // comes back in the completion; below 2^63, as all ids
  absl::Span<std::byte> into;
  uint32_t key = 0;
};

struct GroupSend {
  uint64_t id = 0;
  absl::Span<const std::byte> from;
  uint32_t key = 0;
  bool signaled = false;  // otherwise only a failure completes
  bool inlined = false;   // `from` may change when posted
};

struct GroupCompletion {
  uint32_t pair = 0;  // its number
  bool received = false;
  uint64_t id = 0;
  size_t bytes = 0;  // received
  // Null, or the failure; the pair is in error then. A receive that completes
  // with it holds nothing.
  const char* error = nullptr;
};

// A queue pair of a group. A peer cannot read or write memory through it, only
// fill a receive. Thread-safe.
class GroupPair {
 public:
  // Destroys it. The group loses a receive that was being filled unless the
  // pair was stopped and has drained (DeviceEvent::kPairDrained; soft-RoCE
  // reports no such event, and needs some moments).
  virtual ~GroupPair() = default;

  virtual uint32_t number() const = 0;
  virtual size_t max_inline() const = 0;
  virtual absl::Status Connect(const GidEntry& own_gid, const PairAddress& own,
                               const PairAddress& peer,
                               const PairPatience& patience) = 0;
  virtual absl::Status Send(const GroupSend& send) = 0;
  // Nothing is received or sent by it any more; posted operations are flushed.
  virtual void Stop() = 0;
};

// Thread-safe, but only one thread may call Poll, Arm and TakeEvents. Its pairs
// keep it alive.
class VerbsGroup {
 public:
  virtual ~VerbsGroup() = default;

  // At most the number asked for; less if the device has smaller queues.
  virtual int max_pairs() const = 0;
  // kResourceExhausted: over the device's limits.
  virtual absl::StatusOr<std::unique_ptr<GroupPair>> CreatePair() = 0;
  // The local key, which no peer can use. `memory` must outlive the group.
  // kResourceExhausted: over the process's limit of locked memory.
  virtual absl::StatusOr<uint32_t> Register(absl::Span<std::byte> memory) = 0;
  // Posts all; on error, possibly only some of the first.
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
