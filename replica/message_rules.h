// Who may send which message of the chain's protocol: one table, by what the
// link that it comes on is of use for. What comes on a link that it may not
// come on ends that link; in which state of a part a message counts that may
// come, the part decides.
#ifndef KAMINO_REPLICA_MESSAGE_RULES_H_
#define KAMINO_REPLICA_MESSAGE_RULES_H_

#include <cstdint>
#include <initializer_list>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "kamino/internal/v1/chain.pb.h"

namespace kamino::replica {

// What a link is to the node at this end. But for kNone the other end has
// proved to be who it has to be, by its Hello or, where this node opened the
// link, before anything was sent.
enum class LinkUse : uint8_t {
  kNone,         // nothing: no Hello was taken on it
  kPredecessor,  // opened by the predecessor
  kSuccessor,    // opened to the successor
  kTail,         // opened by the tail, at the head
  kHead,         // opened to the head, at the tail
  kJoining,      // opened by a node that joins, at the tail
  kDonor,        // opened to the tail, by this node, which joins
};
inline constexpr LinkUse kLinkUses[] = {
    LinkUse::kNone, LinkUse::kPredecessor, LinkUse::kSuccessor, LinkUse::kTail,
    LinkUse::kHead, LinkUse::kJoining,     LinkUse::kDonor};

// "the predecessor", "nobody"...
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

// One for each kind of message.
absl::Span<const MessageRule> MessageRules();

// False for what has no rule.
bool MayCome(kamino::internal::v1::ChainMessage::MessageCase message,
             LinkUse on);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_MESSAGE_RULES_H_
