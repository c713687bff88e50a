// Whatever a crash leaves, recovery finds the state before or after the
// transaction in flight, with every acknowledged one. For more than fits in a
// test: make crash.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/crash/campaign.h"
#include "tests/engine/crash/coverage.h"
#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {
namespace {

// AddressSanitizer makes it much slower, and looks for something else.
#ifdef __SANITIZE_ADDRESS__
constexpr uint64_t kSeeds = 1;
#else
constexpr uint64_t kSeeds = 9;
#endif
// The least of each scheme; on average, where it has several configurations.
constexpr uint64_t kMinImages = kSeeds * 2500;
constexpr uint64_t kMinCommits = kSeeds * 50;
constexpr uint64_t kMinRewindImages = 1000;

// Every one is a test by itself, so that shards have about as much to do.
struct Share {
  std::string scheme;
  // Of the engine's branches: those that it has to come by begin with one of
  // the first, and with none of the second.
  std::vector<std::string> comes_by;
  std::vector<std::string> but;
};

// "" begins all names.
const std::vector<Share>& Shares() {
  static const auto* const shares = new std::vector<Share>{
      {"kamino-dynamic", {""}, {"kWrap", "kLogFull", "kCopyOfNew"}},
      {"kamino-simple",
       {""},
       {"kWrap", "kIntentClearedReplaced", "kCopyMade", "kCopyEvicted",
        "kCopyPinnedStays", "kCopyDropped", "kBackupFull"}},
      {"kamino-later", {"kHeldForRelease", "kReleased"}, {}},
      {"wrap", {"kWrap"}, {}},
      {"undo-log", {}, {}},
      {"undo-each", {}, {}},
      {"undo-own", {}, {}},
      {"cow", {}, {}},
  };
  return *shares;
}

bool BeginsWithOne(const std::string& name,
                   const std::vector<std::string>& begins) {
  return std::any_of(begins.begin(), begins.end(), [&](const auto& begin) {
    return absl::StartsWith(name, begin);
  });
}

bool HasToComeBy(const Share& share, const std::string& branch) {
  return BeginsWithOne(branch, share.comes_by) &&
         !BeginsWithOne(branch, share.but);
}

template <typename Param>
std::string NameOf(const ::testing::TestParamInfo<Param>& info) {
  std::string name = info.param.scheme;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class CrashImagesOfSchemeTest : public ::testing::TestWithParam<Share> {};

TEST_P(CrashImagesOfSchemeTest, EveryImageRecovers) {
  Campaign campaign;
  campaign.first = 1;
  campaign.seeds = kSeeds;
  campaign.scheme = GetParam().scheme;
  const CampaignResult result = RunCampaign(campaign);
  ASSERT_FALSE(result.failed) << result.report;
  std::printf("%s", result.report.c_str());
  EXPECT_GE(result.images, kMinImages);
  // The workload is one that matters.
  std::printf("%s", result.reached.c_str());
#ifndef __SANITIZE_ADDRESS__
  std::vector<std::string> missed;
  for (const std::string& branch : result.not_reached) {
    if (HasToComeBy(GetParam(), branch)) missed.push_back(branch);
  }
  EXPECT_THAT(missed, ::testing::IsEmpty());
#endif
  EXPECT_GT(result.committed, kMinCommits);
  EXPECT_GT(result.full, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, CrashImagesOfSchemeTest,
                         ::testing::ValuesIn(Shares()), NameOf<Share>);

TEST(CrashImagesTest, EverySchemeAndEveryBranchIsSomebodys) {
  for (const Scheme& scheme : Schemes()) {
    if (absl::StartsWith(scheme.name, "rewind-") || scheme.name == "archapt") {
      continue;  // below
    }
    EXPECT_EQ(std::count_if(Shares().begin(), Shares().end(),
                            [&](const Share& share) {
                              return share.scheme == scheme.name;
                            }),
              1)
        << scheme.name;
  }
  ForgetReached();
  for (const std::string& branch : NotReached()) {
    EXPECT_TRUE(std::any_of(
        Shares().begin(), Shares().end(),
        [&](const Share& share) { return HasToComeBy(share, branch); }))
        << branch;
  }
}

// Twelve configurations; more: make crash SCHEME=rewind. What drains often has
// many crash points and few commits.
struct RewindShare {
  const char* scheme;
  uint64_t seeds;
  int steps;
  uint64_t percent;  // of the crash points
  uint64_t commits;  // at least
};

class CrashImagesOfRewindTest : public ::testing::TestWithParam<RewindShare> {};

TEST_P(CrashImagesOfRewindTest, EveryImageRecovers) {
  const RewindShare& share = GetParam();
  Campaign campaign;
  campaign.first = 1;
  campaign.seeds = kSeeds == 1 ? 1 : share.seeds;
  campaign.scheme = share.scheme;
  campaign.run.steps = share.steps;
  campaign.run.percent = share.percent;
  const CampaignResult result = RunCampaign(campaign);
  ASSERT_FALSE(result.failed) << result.report;
  std::printf("%s", result.report.c_str());
  EXPECT_GT(result.committed, share.commits * campaign.seeds / share.seeds);
  // Of three forms, and what keeps records.
  EXPECT_GE(result.images, 3 * kMinRewindImages);
}

INSTANTIATE_TEST_SUITE_P(
    All, CrashImagesOfRewindTest,
    ::testing::Values(RewindShare{"rewind-2-noforce", 1, 120, 1, 80},
                      RewindShare{"rewind-1-noforce", 1, 300, 3, 200},
                      RewindShare{"rewind-1-force", 6, 300, 3, 150},
                      RewindShare{"rewind-2-force", 6, 300, 3, 40}),
    NameOf<RewindShare>);

// Of lines that nobody has flushed, chance decides which are lost, or a model
// of a cache does, which is about as long as the queue. More: make crash
// SCHEME=archapt, and with CACHE=8448.
class CrashImagesOfArchaptTest : public ::testing::TestWithParam<size_t> {};

TEST_P(CrashImagesOfArchaptTest, EveryImageRecovers) {
  Campaign campaign;
  campaign.first = 1;
  campaign.seeds = kSeeds == 1 ? 1 : 2;
  campaign.scheme = "archapt";
  campaign.run.steps = 800;
  campaign.run.explorer.cache_bytes = GetParam();
  const CampaignResult result = RunCampaign(campaign);
  ASSERT_FALSE(result.failed) << result.report;
  std::printf("%s", result.report.c_str());
  EXPECT_GT(result.images, 1000u);
  EXPECT_GT(result.committed, 100u);
  // What was skipped was not always where it belonged, ...
  EXPECT_GT(result.repaired, 20u);
  // ... and chance takes more than sums can make up for.
  if (GetParam() == 0) {
    EXPECT_GT(result.losses, 10u);
  }
}

INSTANTIATE_TEST_SUITE_P(ByCacheBytes, CrashImagesOfArchaptTest,
                         ::testing::Values(0, 8448),
                         ::testing::PrintToStringParamName());

TEST(CrashImagesTest, ASeedDoesTheSameAgain) {
  Campaign campaign;
  campaign.first = 77;
  campaign.scheme = "kamino-dynamic";
  campaign.run.steps = 40;
  const CampaignResult once = RunCampaign(campaign);
  const CampaignResult again = RunCampaign(campaign);
  EXPECT_FALSE(once.failed) << once.report;
  EXPECT_EQ(once.images, again.images);
  EXPECT_EQ(once.committed, again.committed);
}

}  // namespace
}  // namespace kamino::engine::crash
