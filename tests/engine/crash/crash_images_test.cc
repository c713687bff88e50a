// Whatever a crash leaves, recovery finds the state before or after the
// transaction in flight, with every acknowledged one. For more than fits in a
// test: make crash.
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/crash/campaign.h"

namespace kamino::engine::crash {
namespace {

// AddressSanitizer makes it much slower, and looks for something else.
#ifdef __SANITIZE_ADDRESS__
constexpr uint64_t kSeeds = 1;
#else
constexpr uint64_t kSeeds = 9;
#endif
constexpr uint64_t kRewindImages = 1000;  // on average
constexpr uint64_t kMinImages = kSeeds * 20000;
constexpr uint64_t kMinCommits = kSeeds * 50;

// Come by in a campaign of its own.
bool IsOfArchapt(const std::string& branch) {
  return absl::StartsWith(branch, "kArchapt");
}

std::vector<std::string> OfArchapt(const std::vector<std::string>& branches,
                                   bool of_it) {
  std::vector<std::string> some;
  for (const std::string& branch : branches) {
    if (IsOfArchapt(branch) == of_it) some.push_back(branch);
  }
  return some;
}

TEST(CrashImagesTest, EveryImageRecovers) {
  Campaign campaign;
  campaign.first = 1;
  campaign.seeds = kSeeds;
  campaign.but = {"rewind", "archapt"};
  const CampaignResult result = RunCampaign(campaign);
  ASSERT_FALSE(result.failed) << result.report;
  std::printf("%s%llu images in all\n", result.report.c_str(),
              static_cast<unsigned long long>(result.images));
  EXPECT_GE(result.images, kMinImages);
  // The workload is one that matters.
  std::printf("%s", result.reached.c_str());
#ifndef __SANITIZE_ADDRESS__
  EXPECT_THAT(OfArchapt(result.not_reached, false), ::testing::IsEmpty());
#endif
  EXPECT_GT(result.committed, kMinCommits);
  EXPECT_GT(result.full, 0u);
}

// Twelve configurations; more: make crash SCHEME=rewind. What drains often has
// many crash points and few commits.
TEST(CrashImagesTest, EveryImageOfRewindRecovers) {
  struct Share {
    const char* schemes;
    uint64_t seeds;
    int steps;
    uint64_t percent;  // of the crash points
    uint64_t commits;  // at least
  };
  uint64_t images = 0;
  for (const Share& share : {Share{"rewind-1-noforce", 1, 300, 3, 200},
                             {"rewind-2-noforce", 1, 120, 1, 80},
                             {"rewind-1-force", 6, 300, 3, 150},
                             {"rewind-2-force", 6, 300, 3, 40}}) {
    Campaign campaign;
    campaign.first = 1;
    campaign.seeds = kSeeds == 1 ? 1 : share.seeds;
    campaign.scheme = share.schemes;
    campaign.run.steps = share.steps;
    campaign.run.percent = share.percent;
    const CampaignResult result = RunCampaign(campaign);
    ASSERT_FALSE(result.failed) << result.report;
    std::printf("%s", result.report.c_str());
    EXPECT_GT(result.committed, share.commits * campaign.seeds / share.seeds);
    images += result.images;
  }
  EXPECT_GE(images, 12 * kRewindImages);
}

// Of lines that nobody has flushed, chance decides which are lost, or a model
// of a cache does, which is about as long as the queue. More: make crash
// SCHEME=archapt, and with CACHE=8448.
TEST(CrashImagesTest, EveryImageOfArchaptRecovers) {
  std::set<std::string> never_reached;
  for (const size_t cache_bytes : {0, 8448}) {
    Campaign campaign;
    campaign.first = 1;
    campaign.seeds = kSeeds == 1 ? 1 : 2;
    campaign.scheme = "archapt";
    campaign.run.steps = 800;
    campaign.run.explorer.cache_bytes = cache_bytes;
    const CampaignResult result = RunCampaign(campaign);
    ASSERT_FALSE(result.failed) << result.report;
    std::printf("%s%s", result.report.c_str(), result.reached.c_str());
    const auto not_reached = OfArchapt(result.not_reached, true);
    if (cache_bytes == 0) {
      never_reached.insert(not_reached.begin(), not_reached.end());
    } else {
      std::set<std::string> both;
      for (const std::string& branch : not_reached) {
        if (never_reached.count(branch) > 0) both.insert(branch);
      }
      never_reached = both;
    }
    EXPECT_GT(result.images, 1000u);
    EXPECT_GT(result.committed, 100u);
    // What was skipped was not always where it belonged, ...
    EXPECT_GT(result.repaired, 20u);
    // ... and chance takes more than sums can make up for.
    if (cache_bytes == 0) {
      EXPECT_GT(result.losses, 10u);
    }
  }
  // Seldom in so few seeds. Two planted faults are met there alone.
  never_reached.erase("kArchaptTailPassesCommit");
#ifndef __SANITIZE_ADDRESS__
  EXPECT_THAT(never_reached, ::testing::IsEmpty());
#endif
}

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
