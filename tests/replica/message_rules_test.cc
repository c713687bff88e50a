#include "replica/link/message_rules.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::ChainMessage;

std::string NameOf(ChainMessage::MessageCase message) {
  return ChainMessage::descriptor()->FindFieldByNumber(message)->name();
}

std::string UsesOf(ChainMessage::MessageCase message) {
  std::string uses;
  for (const LinkUse use : kLinkUses) {
    if (!MayCome(message, use)) continue;
    absl::StrAppend(&uses, uses.empty() ? "" : ", ", LinkUseName(use));
  }
  return uses;
}

// In readable form: which sender may send which message. The rules are looser
// than these only on purpose, and then say so here.
TEST(MessageRulesTest, MatchesTheIntendedUses) {
  const std::map<std::string, std::string> meant = {
      {"hello", "no neighbour"},
      {"sync", "the successor, the head, a node that joins"},
      {"append", "the predecessor, the tail that is joined"},
      {"append_ack", "the successor, a node that joins"},
      {"completion", "the tail"},
      {"clean_up", "the successor, a node that joins"},
      {"reject",
       "no neighbour, the predecessor, the successor, the tail, the head, a "
       "node that joins, the tail that is joined"},
      {"fetch", "the predecessor, the successor"},
      {"fetched", "the predecessor, the successor"},
      {"state_begin", "the tail that is joined"},
      {"state_chunk", "the tail that is joined"},
      {"state_chunk_ack", "a node that joins"},
      {"state_wanted", "a node that joins"},
      {"vote", "the successor"},
      {"convict", "the successor"},
      {"announce", "the predecessor"},
      {"announce_ack", "the successor"},
      {"compare", "the predecessor"},
      {"compared", "the successor"},
  };
  std::map<std::string, std::string> found;
  for (const MessageRule& rule : MessageRules()) {
    EXPECT_TRUE(
        found.emplace(NameOf(rule.message), UsesOf(rule.message)).second)
        << NameOf(rule.message);
  }
  EXPECT_EQ(found, meant);
}

TEST(MessageRulesTest, HasEachKindOfMessage) {
  const auto* kinds = ChainMessage::descriptor()->FindOneofByName("message");
  ASSERT_NE(kinds, nullptr);
  EXPECT_EQ(static_cast<size_t>(kinds->field_count()), MessageRules().size());
  for (int i = 0; i < kinds->field_count(); ++i) {
    EXPECT_NE(UsesOf(static_cast<ChainMessage::MessageCase>(
                  kinds->field(i)->number())),
              "")
        << kinds->field(i)->name();
  }
}

TEST(MessageRulesTest, AnUnknownMessageMayComeFromNoPeer) {
  EXPECT_EQ(UsesOf(ChainMessage::MESSAGE_NOT_SET), "");
  EXPECT_FALSE(MayCome(static_cast<ChainMessage::MessageCase>(1000),
                       LinkUse::kPredecessor));
}

}  // namespace
}  // namespace kamino::replica
