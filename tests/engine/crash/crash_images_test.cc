// Whatever a crash leaves, recovery finds the state before or after the
// transaction in flight, with every acknowledged one. For more seeds than a
// test has time for: make crash.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/crash/campaign.h"
#include "tests/engine/crash/coverage.h"
#include "tests/engine/crash/rig.h"
#include "tests/engine/crash/share.h"

namespace kamino::engine::crash {
namespace {

// The least of each scheme; on average, where it has several configurations.
// Random workloads seldom reach this branch.
constexpr char kFullLog[] = "kLogFull";
constexpr uint64_t kMinImages = kSeeds * 2500;
constexpr uint64_t kMinCommits = kSeeds * 50;

// "" begins all names.
const std::vector<Share>& Shares() {
  static const auto* const shares = new std::vector<Share>{
      {"kamino-dynamic", {""}, {kFullLog, "kCopyOfNew"}},
      {"kamino-simple",
       {""},
       {kFullLog, "kIntentClearedReplaced", "kCopyMade", "kCopyEvicted",
        "kCopiesEvictedTogether", "kCopyAwaitsEviction", "kCopySecondChance",
        "kCopyNotInFront", "kCopyPinnedStays", "kCopyDropped",
        "kUndoCopyFull"}},
      {"kamino-later", {"kHeldForRelease", "kReleased"}, {}},
      {"undo-log", {}, {}},
      {"undo-each", {}, {}},
      {"undo-own", {}, {}},
      {"cow", {}, {}},
  };
  return *shares;
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
  // The workload is big enough.
  std::printf("%s", result.reached.c_str());
  EXPECT_THAT(Missed(GetParam(), result), ::testing::IsEmpty());
  EXPECT_GT(result.committed, kMinCommits);
  EXPECT_GT(result.full, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, CrashImagesOfSchemeTest,
                         ::testing::ValuesIn(Shares()), NameOf<Share>);

// Few seeds fill the log: this one does so many times.
TEST(CrashImagesTest, AFullLogIsExplored) {
  if (kSeeds == 1) GTEST_SKIP() << "under the sanitizers schedules differ";
  Campaign campaign;
  campaign.first = 8;
  campaign.scheme = "kamino-simple";
  campaign.run.percent = 2;
  campaign.run.most_images = 200;
  const CampaignResult result = RunCampaign(campaign);
  ASSERT_FALSE(result.failed) << result.report;
  EXPECT_THAT(result.not_reached,
              ::testing::Not(::testing::Contains(std::string(kFullLog))));
}

TEST(CrashImagesTest, ReplayCommandListsAllOptions) {
  RunOptions options;
  options.most_images = kUsualImages;
  EXPECT_EQ(ReplayCommand("cow", 7, options),
            "make crash SCHEME=cow FIRST=7 SEEDS=1");
  options.most_images = 0;
  options.explorer.cache_bytes = 8448;
  options.steps = 400;
  options.percent = 10;
  EXPECT_EQ(ReplayCommand("archapt", 2, options),
            "make crash SCHEME=archapt FIRST=2 SEEDS=1 CACHE=8448 IMAGES=0 "
            "STEPS=400 PERCENT=10");
}

// On a file on disk, whose pages the kernel writes back at any time.
class PageImagesTest : public ::testing::TestWithParam<const char*> {};

TEST_P(PageImagesTest, EveryPageImageRecovers) {
  Campaign campaign;
  campaign.seeds = kSeeds == 1 ? 1 : 4;
  campaign.scheme = GetParam();
  campaign.run.explorer.pages = true;
  const CampaignResult result = RunCampaign(campaign);
  std::printf("%s", result.report.c_str());
  EXPECT_FALSE(result.failed) << result.report;
  EXPECT_GE(result.images, campaign.seeds * 1200);
  EXPECT_GE(result.committed, campaign.seeds * 50);
}

INSTANTIATE_TEST_SUITE_P(Schemes, PageImagesTest,
                         ::testing::Values("kamino-simple", "kamino-dynamic",
                                           "kamino-later", "undo-log"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(CrashImagesTest, ReplayCommandNamesPages) {
  RunOptions options;
  options.most_images = kUsualImages;
  options.explorer.pages = true;
  EXPECT_EQ(ReplayCommand("undo-log", 3, options),
            "make crash SCHEME=undo-log FIRST=3 SEEDS=1 PAGES=1");
}

TEST(CrashImagesTest, SharesCoverEverySchemeAndBranch) {
  for (const Scheme& scheme : Schemes()) {
    EXPECT_EQ(std::count_if(Shares().begin(), Shares().end(),
                            [&](const Share& share) {
                              return share.scheme == scheme.name;
                            }),
              1)
        << scheme.name;
  }
  ForgetReached();
  for (const std::string& branch : NotReached()) {
    if (branch == kFullLog) continue;  // AFullLogIsExplored
    EXPECT_TRUE(std::any_of(
        Shares().begin(), Shares().end(),
        [&](const Share& share) { return HasToComeBy(share, branch); }))
        << branch;
  }
}

TEST(CrashImagesTest, ASeedIsReproducible) {
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
