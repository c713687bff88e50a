// A thin layer over libibverbs with just the calls that a link needs, so that
// tests can replace the device. Names are those of the verbs: a pair is a queue
// pair of the reliable connected service, with its own completion queue,
// completion channel and protection domain.
//
// Two kinds of addresses reach a port: its LID in an InfiniBand subnet, else a
// GID, which on Ethernet (RoCE) belongs to an IP address and to version 1 or 2
// of the protocol.
#ifndef KAMINO_TRANSPORT_VERBS_DEVICE_H_
#define KAMINO_TRANSPORT_VERBS_DEVICE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace kamino::transport {

// These numbers travel in connection set-up; never change them.
enum class GidKind : uint32_t { kInfiniBand = 0, kRoceV1 = 1, kRoceV2 = 2 };

using Gid = std::array<uint8_t, 16>;

struct GidEntry {
  int index = 0;
  Gid gid = {};
  GidKind kind = GidKind::kInfiniBand;
};

struct PortInfo {
  int number = 1;
  bool active = false;
  bool ethernet = false;
  uint16_t lid = 0;            // zero on Ethernet
  size_t mtu = 1024;           // bytes, the active one
  size_t max_message = 0;      // bytes of one operation
  std::vector<GidEntry> gids;  // without unused ones
};

// How a pair reaches another.
struct PairAddress {
  uint32_t number = 0;  // of the pair, 24 bits
  uint32_t psn = 0;     // of its first packet, 24 bits
  uint16_t lid = 0;
  Gid gid = {};
  GidKind kind = GidKind::kInfiniBand;
  size_t mtu = 0;
};

struct PairSize {
  int max_writes = 0;    // posted and not complete
  int max_receives = 0;  // likewise
  size_t max_inline = 0;
};

// Limits on retransmission when packets get lost.
struct PairPatience {
  // Time without an acknowledgement until a packet is sent again is
  // 4.096 us * 2^ack_timeout; 1 to 31.
  uint8_t ack_timeout = 16;
  // Not 7: to soft-RoCE that means forever.
  uint8_t retries = 6;
  // Attempts while the peer has no receive posted; 7 would be forever.
  uint8_t receiver_not_ready_retries = 6;
};

// A registered range of memory.
struct MemoryKeys {
  uint32_t local = 0;
  uint32_t remote = 0;
};

// One RDMA WRITE, with immediate data or without.
struct RdmaWrite {
  uint64_t id = 0;  // comes back in the completion
  absl::Span<const std::byte> from;
  uint32_t local_key = 0;
  uint64_t to = 0;  // address at the peer
  uint32_t remote_key = 0;
  std::optional<uint32_t> immediate;
  bool signaled = false;  // otherwise only a failure completes
  bool inlined = false;   // `from` may change when posted
};

struct Completion {
  bool received = false;  // else one of our writes
  uint64_t id = 0;        // a write's
  uint32_t immediate = 0;
  // Null, or what went wrong; the pair is in error then and everything posted
  // comes back as flushed.
  const char* error = nullptr;
};

// Thread-safe, but only one thread may call Poll, Arm and TakeEvents. After its
// destruction no byte of its memory is read or written.
class VerbsPair {
 public:
  virtual ~VerbsPair() = default;

  virtual uint32_t number() const = 0;
  // Bytes of a write that can be inlined; at most the number asked for.
  virtual size_t max_inline() const = 0;

  // `memory` must outlive the pair, or the registration. Only with
  // `peer_writes` may the peer access it. kResourceExhausted: too much memory,
  // or over the process's limit of locked memory.
  virtual absl::StatusOr<MemoryKeys> Register(absl::Span<std::byte> memory,
                                              bool peer_writes) = 0;
  // Ends the peer's access to the range.
  virtual void Deregister(const MemoryKeys& keys) = 0;

  // Makes the pair ready to send and receive through `own_gid`.
  virtual absl::Status Connect(const GidEntry& own_gid, const PairAddress& own,
                               const PairAddress& peer,
                               const PairPatience& patience) = 0;

  // Each receive takes the immediate data of one write of the peer. May be
  // called before Connect.
  virtual absl::Status PostReceives(int count) = 0;
  // Posts all; on error, possibly only some of the first.
  virtual absl::Status PostWrites(absl::Span<const RdmaWrite> writes) = 0;

  // Fills from the front; returns how many. On error the pair is unusable.
  virtual absl::StatusOr<size_t> Poll(absl::Span<Completion> completions) = 0;
  // The next completion after this call makes event_fd readable. Earlier
  // completions do not.
  virtual absl::Status Arm() = 0;
  virtual int event_fd() const = 0;
  virtual void TakeEvents() = 0;
};

class VerbsGroup;  // transport/verbs/verbs_group.h
struct GroupSize;

struct DeviceEvent {
  enum class Kind {
    kPairFailed,
    kPairDrained,  // of a group: fills no more receives
    kGroupFailed,  // with all pairs of the device's groups
    kPortDown,
    kDeviceGone,
    kOther
  };
  Kind kind = Kind::kOther;
  uint32_t pair = 0;  // kPairFailed, kPairDrained
  int port = 0;       // kPortDown
  std::string text;
};

// An opened device. Thread-safe. Outlives its pairs (they hold it).
class VerbsDevice {
 public:
  virtual ~VerbsDevice() = default;

  virtual const std::string& name() const = 0;
  virtual absl::StatusOr<std::vector<PortInfo>> Ports() = 0;
  // kResourceExhausted: `size` is over the device's limits.
  virtual absl::StatusOr<std::unique_ptr<VerbsPair>> CreatePair(
      int port, const PairSize& size) = 0;
  // kUnimplemented: the device has no shared receive queues.
  virtual absl::StatusOr<std::shared_ptr<VerbsGroup>> CreateGroup(
      int port, const GroupSize& size) = 0;

  // False once the host is removing it. A driver may not report that by an
  // event, and may keep pairs working while the removal waits until all are
  // closed.
  virtual bool Present() const = 0;

  // Readable when NextEvent has an event.
  virtual int event_fd() const = 0;
  virtual std::optional<DeviceEvent> NextEvent() = 0;
};

// The devices of a host. Thread-safe.
class VerbsApi {
 public:
  virtual ~VerbsApi() = default;
  virtual absl::StatusOr<std::vector<std::string>> DeviceNames() = 0;
  // kNotFound: there is none of that name. kUnavailable: it cannot be opened.
  virtual absl::StatusOr<std::shared_ptr<VerbsDevice>> Open(
      const std::string& name) = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_DEVICE_H_
