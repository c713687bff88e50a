#include "membership/agreement.h"

#include <map>
#include <string>

#include "base/chain_mode.h"
#include "base/undo_copy_kind.h"
#include "gtest/gtest.h"
#include "kamino/v1/member.pb.h"
#include "membership/view.h"

namespace kamino::membership {
namespace {

TEST(AgreementTest, OverlappingRangesMatch) {
  struct Case {
    Range a, b;
    std::string mismatch;
  };
  const Case cases[] = {
      {{3, 3}, {3, 3}, ""},
      {{1, 3}, {3, 4}, ""},
      {{3, 4}, {1, 3}, ""},
      {{0, 1}, {0, 0}, ""},
      {{1, 5}, {2, 3}, ""},
      {{3, 3}, {4, 4}, "x is 3 at n1, but 4 at n2"},
      {{1, 2}, {3, 4}, "x is 1 to 2 at n1, but 3 to 4 at n2"},
      {{1, 1}, {0, 0}, "x is 1 at n1, but missing at n2"},
  };
  for (const Case& each : cases) {
    const Agreement a = {{"x", each.a}};
    Agreement b = {{"x", each.b}};
    EXPECT_EQ(MismatchOf(a, "n1", b, "n2"), each.mismatch);
    // A term that is not named is 0.
    if (each.b.high == 0) b.clear();
    EXPECT_EQ(MismatchOf(a, "n1", b, "n2"), each.mismatch);
  }
}

TEST(AgreementTest, TheFinalLevelIsTheHighestThatAllSupport) {
  const Agreement old_one = {{"format", {1, 3}}, {"size", {64, 64}}};
  const Agreement new_one = {
      {"format", {2, 5}}, {"size", {64, 64}}, {"procedure p", {0, 1}}};
  EXPECT_EQ(FinalLevelsOf({&old_one, &new_one}),
            (InForce{{"format", 3}, {"size", 64}, {"procedure p", 0}}));
  EXPECT_EQ(FinalLevelsOf({&new_one}),
            (InForce{{"format", 5}, {"size", 64}, {"procedure p", 1}}));
  EXPECT_EQ(FinalLevelsOf({}), InForce());
  EXPECT_EQ(MismatchOf(old_one, "n1", FinalLevelsOf({&old_one, &new_one})), "");
  EXPECT_EQ(MismatchOf(old_one, "n1", FinalLevelsOf({&new_one})),
            "format is 1 to 3 at n1, but 5 in the chain");
  EXPECT_EQ(MismatchOf(Agreement(), "n1", {{"procedure p", 1}}),
            "procedure p is missing at n1, but 1 in the chain");
}

// Levels that members of an older and a newer release support.
TEST(AgreementTest, AFeatureIsWithdrawnOnceAllMembersWithdrawIt) {
  const Agreement offers = {{"procedure p", {0, 1}}};
  const Agreement withdraws = {{"procedure p", {0, 1, /*withdrawn=*/true}}};
  const Agreement lacks = {};
  const InForce used = {{"procedure p", 1}};
  const InForce unused = {{"procedure p", 0}};
  EXPECT_EQ(FinalLevelsOf({&withdraws, &offers}), used);
  EXPECT_EQ(FinalLevelsOf({&offers, &withdraws}), used);
  EXPECT_EQ(FinalLevelsOf({&withdraws, &withdraws}), unused);
  EXPECT_EQ(FinalLevelsOf({&withdraws, &lacks}), unused);
  EXPECT_EQ(FinalLevelsOf({&lacks}), InForce());
  // Finalizing alone changes it.
  EXPECT_EQ(KeptOf(used, {&withdraws, &withdraws}), used);
  EXPECT_EQ(KeptOf(unused, {&withdraws, &offers}), unused);
  EXPECT_EQ(MismatchOf(withdraws, "n1", used), "");
  EXPECT_EQ(MismatchOf(lacks, "n1", unused), "");
  // A chain that forms with such nodes never uses it.
  EXPECT_EQ(KeptOf({}, {&withdraws, &withdraws}), unused);
  std::map<std::string, kamino::v1::AgreementRange> message;
  ToMessage(withdraws, &message);
  EXPECT_EQ(AgreementFrom(message), withdraws);
}

TEST(AgreementTest, MalformedAgreementsAreRejected) {
  EXPECT_EQ(Malformed({{"x", {3, 4}}}), "");
  EXPECT_EQ(Malformed({{"x\n", {4, 3}}}),
            "x\\n ends at 3, before it begins at 4");
  EXPECT_NE(Malformed({{std::string(kMaxAgreementBytes, 'x'), {0, 1}}}), "");
}

TEST(AgreementTest, AMismatchNamesTheChainModes) {
  const auto mode = [](ChainMode of) {
    const auto number = static_cast<uint64_t>(of);
    return Agreement{{std::string(kChainModeTerm), {number, number}}};
  };
  EXPECT_EQ(MismatchOf(mode(ChainMode::kImages), "n2", mode(ChainMode::kKamino),
                       "n1"),
            "chain mode (--chain_mode) is images at n2, but kamino at n1");
  const Agreement traditional = mode(ChainMode::kTraditional);
  EXPECT_EQ(
      MismatchOf(mode(ChainMode::kImages), "n2", FinalLevelsOf({&traditional})),
      "chain mode (--chain_mode) is images at n2, but traditional in the "
      "chain");
  // A program from before modes existed.
  EXPECT_EQ(MismatchOf(Agreement(), "n1", mode(ChainMode::kKamino), "n2"), "");
  EXPECT_EQ(MismatchOf(traditional, "n2", Agreement(), "n1"),
            "chain mode (--chain_mode) is traditional at n2, but kamino at n1");
}

TEST(AgreementTest, AMismatchNamesTheUndoCopies) {
  const auto undo_copy = [](UndoCopyKind of) {
    const auto number = static_cast<uint64_t>(of);
    return Agreement{{std::string(kUndoCopyTerm), {number, number}}};
  };
  const Agreement log = undo_copy(UndoCopyKind::kLog);
  EXPECT_EQ(MismatchOf(undo_copy(UndoCopyKind::kSimple), "n2", log, "n1"),
            "undo copy (--undo_copy) is simple at n2, but log at n1");
  EXPECT_EQ(MismatchOf(undo_copy(UndoCopyKind::kDynamic), "n2",
                       FinalLevelsOf({&log})),
            "undo copy (--undo_copy) is dynamic at n2, but log in the chain");
  EXPECT_EQ(MismatchOf(log, "n1", Agreement(), "n2"),
            "undo copy (--undo_copy) is log at n1, but missing at n2");
}

}  // namespace
}  // namespace kamino::membership
