// The first bytes on every socket of a link, in both directions;
// docs/formats/link.md, "Preface".
#ifndef KAMINO_TRANSPORT_SOCKET_PREFACE_H_
#define KAMINO_TRANSPORT_SOCKET_PREFACE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace kamino::transport {

// These numbers are on the wire; never change them.
inline constexpr uint32_t kPrefaceMagic = 0x6f6e6d6b;  // "kmno"
inline constexpr uint16_t kLinkVersion = 2;
enum class SocketKind : uint16_t {
  kTcp = 1,
  kShm = 2,
  kShmWithPass = 3,  // each end's preface is followed by its half of a pass
  kRefused = 4,      // no link: the acceptor refuses the connector
};
// The sender of the preface. Without it an echo, or a socket that the kernel
// connected to itself, would pass for a peer.
enum class SocketSide : uint32_t { kConnector = 1, kAcceptor = 2 };

// Little-endian, no padding.
struct Preface {
  uint32_t magic;
  uint16_t version;
  uint16_t kind;         // SocketKind
  uint32_t max_message;  // bytes the sender of the preface accepts
  uint32_t role;         // SocketSide
  uint64_t ring_bytes;   // shm, connector's: capacity of each ring; else zero
  uint64_t era;          // TransportOptions::era of the sender
  uint64_t checksum;     // XXH3-64 of the bytes before
};
inline constexpr size_t kPrefaceBytes = 40;
static_assert(sizeof(Preface) == kPrefaceBytes);
static_assert(offsetof(Preface, kind) == 6);
static_assert(offsetof(Preface, max_message) == 8);
static_assert(offsetof(Preface, role) == 12);
static_assert(offsetof(Preface, ring_bytes) == 16);
static_assert(offsetof(Preface, era) == 24);
static_assert(offsetof(Preface, checksum) == 32);

// Bytes that follow the preface.
inline constexpr size_t ExtraBytes(SocketKind kind) {
  return kind == SocketKind::kShmWithPass ? 32 : 0;
}

Preface MakePreface(SocketKind kind, SocketSide role, uint32_t max_message,
                    uint64_t ring_bytes, uint64_t era = 0);

// kFailedPrecondition with a text for the log: not a Kamino peer (it may want
// TLS), another version, another kind of link, or a preface that `sender` does
// not send. `received` may be less than a whole preface: the first bytes tell
// other protocols apart, without waiting for more. kPermissionDenied: the
// acceptor refuses this side.
absl::Status CheckPreface(const Preface& preface, size_t received,
                          SocketKind kind, SocketSide sender);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SOCKET_PREFACE_H_
