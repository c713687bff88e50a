// Whatever a crash leaves, recovery finds the state before or after the
// transaction in flight, with every acknowledged one. For more than fits in a
// test: make crash.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

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

// Of branches that were not reached, those of a scheme with its own campaign,
// or all but those.
std::vector<std::string> Missed(const std::vector<std::string>& not_reached,
                                const std::string& scheme, bool its) {
  std::vector<std::string> names;
  for (const std::string& name : not_reached) {
    if ((name.rfind("k" + scheme, 0) == 0) == its) names.push_back(name);
  }
  return names;
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
  EXPECT_THAT(Missed(result.not_reached, "Rewind", /*its=*/false),
              ::testing::IsEmpty());
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
  const std::vector<Share> shares = {{"rewind-1-noforce", 1, 300, 3, 200},
                                     {"rewind-2-noforce", 1, 120, 1, 80},
                                     {"rewind-1-force", 6, 300, 3, 150},
                                     {"rewind-2-force", 6, 300, 3, 40}};
  uint64_t images = 0;
  std::map<std::string, size_t> missed;  // branches, by how many of these
  for (const Share& share : shares) {
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
    for (const auto& name :
         Missed(result.not_reached, "Rewind", /*its=*/true)) {
      ++missed[name];
    }
  }
  EXPECT_GE(images, 12 * kRewindImages);
#ifndef __SANITIZE_ADDRESS__
  for (const auto& [name, by] : missed) EXPECT_LT(by, shares.size()) << name;
#endif
}

// Of lines that nobody has flushed, chance decides which are lost, or a model
// of a cache does, which is about as long as the queue. More: make crash
// SCHEME=archapt, and with CACHE=8448.
TEST(CrashImagesTest, EveryImageOfArchaptRecovers) {
  for (const size_t cache_bytes : {0, 8448}) {
    Campaign campaign;
    campaign.first = 1;
    campaign.seeds = kSeeds == 1 ? 1 : 2;
    campaign.scheme = "archapt";
    campaign.run.steps = 800;
    campaign.run.explorer.cache_bytes = cache_bytes;
    const CampaignResult result = RunCampaign(campaign);
    ASSERT_FALSE(result.failed) << result.report;
    std::printf("%s", result.report.c_str());
    EXPECT_GT(result.images, 1000u);
    EXPECT_GT(result.committed, 100u);
    // What was skipped was not always where it belonged, ...
    EXPECT_GT(result.repaired, 20u);
    // ... and chance takes more than sums can make up for.
    if (cache_bytes == 0) {
      EXPECT_GT(result.losses, 10u);
    }
  }
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
