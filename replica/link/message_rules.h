// The table of chain messages that a peer may send, by the use of the link. A
// message on a wrong link ends that link; for the others the receiving part
// decides in which state they count.
#ifndef KAMINO_REPLICA_LINK_MESSAGE_RULES_H_
#define KAMINO_REPLICA_LINK_MESSAGE_RULES_H_

#include <cstdint>
#include <initializer_list>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kamino/internal/v1/chain.pb.h"

namespace kamino::replica {

// The use of a link at this node. Except for kNone the peer has proved its
// identity, by its Hello or, if this node opened the link, before anything was
// sent.
enum class LinkUse : uint8_t {
  kNone,         // no Hello was accepted on it
  kPredecessor,  // opened by the predecessor
  kSuccessor,    // opened to the successor
  kTail,         // opened by the tail, at the head
  kHead,         // opened to the head, at the tail
  kJoining,      // opened by a joining node, at the tail
  kDonor,        // opened to the tail, by this joining node
};
inline constexpr LinkUse kLinkUses[] = {
    LinkUse::kNone, LinkUse::kPredecessor, LinkUse::kSuccessor, LinkUse::kTail,
    LinkUse::kHead, LinkUse::kJoining,     LinkUse::kDonor};

// "the predecessor", "no neighbour"...
absl::string_view LinkUseName(LinkUse use);

class LinkUses {
 public:
  constexpr LinkUses() = default;
  constexpr LinkUses(std::initializer_list<LinkUse> uses) {
    for (LinkUse use : uses) bits_ |= BitOf(use);
  }
  constexpr bool Has(LinkUse use) const { return (bits_ & BitOf(use)) != 0; }

 private:
  static constexpr uint8_t BitOf(LinkUse use) {
    return static_cast<uint8_t>(1u << static_cast<int>(use));
  }

  uint8_t bits_ = 0;
};

struct MessageRule {
  kamino::internal::v1::ChainMessage::MessageCase message;
  LinkUses on;
};

// One rule for each kind of message.
absl::Span<const MessageRule> MessageRules();

// False for messages without a rule.
bool MayCome(kamino::internal::v1::ChainMessage::MessageCase message,
             LinkUse on);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LINK_MESSAGE_RULES_H_
