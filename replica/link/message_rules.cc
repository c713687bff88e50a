#include "replica/link/message_rules.h"

#include <algorithm>
#include <iterator>

namespace kamino::replica {
namespace {

using kamino::internal::v1::ChainMessage;

constexpr LinkUses kPredecessor = {LinkUse::kPredecessor};
constexpr LinkUses kSuccessor = {LinkUse::kSuccessor};
constexpr LinkUses kNeighbours = {LinkUse::kPredecessor, LinkUse::kSuccessor};
// Nodes that send entries, and nodes that receive them.
constexpr LinkUses kSenders = {LinkUse::kPredecessor, LinkUse::kDonor};
constexpr LinkUses kReceivers = {LinkUse::kSuccessor, LinkUse::kJoining};
constexpr LinkUses kAll = {
    LinkUse::kNone, LinkUse::kPredecessor, LinkUse::kSuccessor, LinkUse::kTail,
    LinkUse::kHead, LinkUse::kJoining,     LinkUse::kDonor};

constexpr MessageRule kRules[] = {
    {ChainMessage::kHello, {LinkUse::kNone}},
    {ChainMessage::kSync,
     {LinkUse::kSuccessor, LinkUse::kHead, LinkUse::kJoining}},
    {ChainMessage::kAppend, kSenders},
    {ChainMessage::kAppendAck, kReceivers},
    {ChainMessage::kCompletion, {LinkUse::kTail}},
    {ChainMessage::kCleanUp, kReceivers},
    // It only says that the sender has another view.
    {ChainMessage::kReject, kAll},
    {ChainMessage::kFetch, kNeighbours},
    {ChainMessage::kFetched, kNeighbours},
    {ChainMessage::kStateBegin, {LinkUse::kDonor}},
    {ChainMessage::kStateChunk, {LinkUse::kDonor}},
    {ChainMessage::kStateChunkAck, {LinkUse::kJoining}},
    {ChainMessage::kStateWanted, {LinkUse::kJoining}},
    {ChainMessage::kVote, kSuccessor},
    {ChainMessage::kConvict, kSuccessor},
    {ChainMessage::kAnnounce, kPredecessor},
    {ChainMessage::kAnnounceAck, kSuccessor},
    {ChainMessage::kCompare, kPredecessor},
    {ChainMessage::kCompared, kSuccessor},
};

}  // namespace

absl::string_view LinkUseName(LinkUse use) {
  switch (use) {
    case LinkUse::kNone:
      return "no neighbour";
    case LinkUse::kPredecessor:
      return "the predecessor";
    case LinkUse::kSuccessor:
      return "the successor";
    case LinkUse::kTail:
      return "the tail";
    case LinkUse::kHead:
      return "the head";
    case LinkUse::kJoining:
      return "a node that joins";
    case LinkUse::kDonor:
      return "the tail that is joined";
  }
  return "";
}

absl::Span<const MessageRule> MessageRules() { return kRules; }

bool MayCome(ChainMessage::MessageCase message, LinkUse on) {
  const auto rule = std::find_if(
      std::begin(kRules), std::end(kRules),
      [message](const MessageRule& each) { return each.message == message; });
  return rule != std::end(kRules) && rule->on.Has(on);
}

}  // namespace kamino::replica
