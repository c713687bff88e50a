// The messages of a verbs link without rings; docs/formats/link.md, "Verbs,
// without rings".
#ifndef KAMINO_TRANSPORT_VERBS_SEND_FORMAT_H_
#define KAMINO_TRANSPORT_VERBS_SEND_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace kamino::transport {

inline constexpr uint32_t kSendVersion = 2;

// These numbers are on the wire; never change them.
enum class SendKind : uint8_t {
  kHello = 1,   // the connector's first; the payload is the answer's token
  kFirst = 2,   // a message, or as much of it as a buffer takes
  kMore = 3,    // the next bytes of it
  kProbe = 4,   // asks for `taken` at once
  kCredit = 5,  // nothing but `taken`
  kBye = 6,     // the sender's last: it has closed the link
};

// In front of each SEND's payload.
struct SendHead {
  SendKind kind;
  uint8_t zeros[3];
  uint32_t length;  // of kFirst: bytes of the whole message; else 0
  // How many firsts, mores and probes the sender has taken so far and posted
  // the buffers of again.
  uint64_t taken;
};
static_assert(sizeof(SendHead) == 16 && alignof(SendHead) == 8 &&
              offsetof(SendHead, length) == 4 &&
              offsetof(SendHead, taken) == 8);

inline constexpr size_t kSendBuffer = 4096;
inline constexpr size_t kSendPayload = kSendBuffer - sizeof(SendHead);

// A sender's firsts, mores and probes that are not covered by `taken`.
inline constexpr uint32_t kSendWindow = 16;
// A receiver reports after it has taken so many.
inline constexpr uint32_t kTakenPerCredit = kSendWindow / 4;
// At most so many other messages are under way: a credit for each
// kTakenPerCredit of the window, and one each for a probe, a hello and a bye.
inline constexpr uint32_t kSendNotices = 8;
static_assert(kSendWindow / kTakenPerCredit + 3 <= kSendNotices);

// Receives of one link, posted and not complete.
inline constexpr uint32_t kLinkReceives = kSendWindow + kSendNotices;
inline constexpr uint32_t kLinkSends = kSendWindow + kSendNotices;

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_SEND_FORMAT_H_
