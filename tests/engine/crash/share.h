// A share of the crash images that tests explore.
#ifndef KAMINO_TESTS_ENGINE_CRASH_SHARE_H_
#define KAMINO_TESTS_ENGINE_CRASH_SHARE_H_

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/engine/crash/campaign.h"

namespace kamino::engine::crash {

// AddressSanitizer makes it much slower, and checks other things.
#ifdef __SANITIZE_ADDRESS__
inline constexpr uint64_t kSeeds = 1;
#else
inline constexpr uint64_t kSeeds = 9;
#endif

// Each is a test by itself, so that shards have about equal work.
struct Share {
  std::string scheme;
  // The engine's branches that it must reach: those that begin with one of
  // `comes_by`, and with none of `but`.
  std::vector<std::string> comes_by;
  std::vector<std::string> but;
};

inline std::ostream& operator<<(std::ostream& out, const Share& share) {
  return out << share.scheme;
}

inline bool BeginsWithOne(const std::string& name,
                          const std::vector<std::string>& begins) {
  return std::any_of(begins.begin(), begins.end(), [&](const auto& begin) {
    return absl::StartsWith(name, begin);
  });
}

inline bool HasToComeBy(const Share& share, const std::string& branch) {
  return BeginsWithOne(branch, share.comes_by) &&
         !BeginsWithOne(branch, share.but);
}

// The branches that a share must reach, and does not.
inline std::vector<std::string> Missed(const Share& share,
                                       const CampaignResult& result) {
  std::vector<std::string> missed;
  // A share under the sanitizers is too small for that.
  if (kSeeds == 1) return missed;
  for (const std::string& branch : result.not_reached) {
    if (HasToComeBy(share, branch)) missed.push_back(branch);
  }
  return missed;
}

template <typename Param>
std::string NameOf(const ::testing::TestParamInfo<Param>& info) {
  std::string name = info.param.scheme;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_SHARE_H_
