#include "replica/integrity/range_votes.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/faults/planted.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::RangeVote;

constexpr char kUnknownSource[] = "?";

struct Vote {
  uint64_t digest;
  std::string source = "";  // of a copy
  uint64_t agreed = 0;
};

// "agreed", "n2 is wrong" or "undecided"; the votes are of n1, n2 and so on.
std::string JudgementOf(const std::vector<Vote>& given) {
  RangeVotes votes;
  for (const Vote& each : given) {
    RangeVote* vote = votes.Add();
    vote->set_node_id("n" + std::to_string(votes.size()));
    vote->set_digest(each.digest);
    vote->set_agreed(each.agreed);
    vote->set_copied(!each.source.empty());
    if (each.source != kUnknownSource) vote->set_source(each.source);
  }
  const RangeJudgement judgement = JudgeRange(votes);
  switch (judgement.kind) {
    case RangeJudgement::Kind::kAgreed:
      return "agreed";
    case RangeJudgement::Kind::kExpel:
      return votes[static_cast<int>(judgement.expelled)].node_id() +
             " is wrong";
    case RangeJudgement::Kind::kUndecided:
      return "undecided";
  }
  return "";
}

constexpr uint64_t kA = 1;
constexpr uint64_t kB = 2;
constexpr uint64_t kC = 3;

TEST(RangeVotesTest, EqualRangesAgree) {
  EXPECT_EQ(JudgementOf({{kA}}), "agreed");
  EXPECT_EQ(JudgementOf({{kA}, {kA}}), "agreed");
  EXPECT_EQ(JudgementOf({{kA}, {kA, "n1"}, {kA, kUnknownSource}}), "agreed");
  EXPECT_EQ(JudgementOf({{kA, "", kA}, {kA}, {kA, "", kA}}), "agreed");
}

TEST(RangeVotesTest, OneOfThreeDiffers) {
  EXPECT_EQ(JudgementOf({{kA}, {kA}, {kB}}), "n3 is wrong");
  EXPECT_EQ(JudgementOf({{kA}, {kB}, {kA}}), "n2 is wrong");
  EXPECT_EQ(JudgementOf({{kB}, {kA}, {kA}}), "n1 is wrong");
  // Also where it differs from its source, or its source from it.
  EXPECT_EQ(JudgementOf({{kA}, {kA}, {kB, "n2"}}), "n3 is wrong");
  EXPECT_EQ(JudgementOf({{kA}, {kB}, {kA, "n2"}}), "n2 is wrong");
}

TEST(RangeVotesTest, ATieIsUndecided) {
  EXPECT_EQ(JudgementOf({{kA}, {kB}}), "undecided");
  EXPECT_EQ(JudgementOf({{kA}, {kB}, {kC}}), "undecided");
  EXPECT_EQ(JudgementOf({{kA}, {kA}, {kB}, {kB}}), "undecided");
}

TEST(RangeVotesTest, CopiesOfEachOtherAreOneVote) {
  EXPECT_EQ(JudgementOf({{kA}, {kB}, {kB, "n2"}}), "undecided");
  EXPECT_EQ(JudgementOf({{kA}, {kB, "n3"}, {kB}}), "undecided");
  // Copies of a node that has gone.
  EXPECT_EQ(JudgementOf({{kA}, {kB, "n9"}, {kB, "n9"}}), "undecided");
  EXPECT_EQ(JudgementOf({{kA}, {kB}, {kB, kUnknownSource}}), "undecided");
  EXPECT_EQ(JudgementOf({{kA}, {kB, kUnknownSource}, {kB, kUnknownSource}}),
            "undecided");
  EXPECT_EQ(JudgementOf({{kA}, {kB}, {kB, "n1"}}), "n1 is wrong");
  EXPECT_EQ(JudgementOf({{kA}, {kA}, {kB}, {kB, "n3"}}), "n3 is wrong");
}

TEST(RangeVotesTest, AnEarlierAgreementIsAVote) {
  EXPECT_EQ(JudgementOf({{kA, "", kA}, {kB}}), "n2 is wrong");
  EXPECT_EQ(JudgementOf({{kA}, {kB, "", kA}}), "n2 is wrong");
  EXPECT_EQ(JudgementOf({{kA, "", kB}, {kB, "", kB}}), "n1 is wrong");
  EXPECT_EQ(JudgementOf({{kA, "", kA}, {kB}, {kC}}), "n3 is wrong");
  // The copy follows its source.
  EXPECT_EQ(JudgementOf({{kA, "", kA}, {kB}, {kB, "n2"}}), "n2 is wrong");
  EXPECT_EQ(JudgementOf({{kA, "", kA}, {kB, "n1"}}), "n2 is wrong");
  // Two of them had the same.
  EXPECT_EQ(JudgementOf({{kA, "", kA}, {kB}, {kB}}), "undecided");
  // No member has the agreed content any more.
  EXPECT_EQ(JudgementOf({{kA, "", kC}, {kB}}), "undecided");
  EXPECT_EQ(JudgementOf({{kA, "", kB}, {kA, "n1"}}), "undecided");
  EXPECT_EQ(JudgementOf({{kA, "", kB}, {kA}}), "agreed");
  // They remember different contents.
  EXPECT_EQ(JudgementOf({{kA, "", kA}, {kB, "", kB}}), "undecided");
  EXPECT_EQ(JudgementOf({{kA, "", kA}, {kB, "", kB}, {kB}}), "n1 is wrong");
}

TEST(RangeVotesTest, PlantedFaultsAreDetected) {
  {
    const faults::Planted planted("scrub-counts-a-copy-twice");
    EXPECT_EQ(JudgementOf({{kA}, {kB}, {kB, "n2"}}), "n1 is wrong");
  }
  const faults::Planted planted("scrub-expels-the-majority");
  EXPECT_EQ(JudgementOf({{kA}, {kB}, {kB}}), "n3 is wrong");
}

}  // namespace
}  // namespace kamino::replica
