// Explores more seeds than a test has time for, or one again.
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "tests/engine/crash/campaign.h"

ABSL_FLAG(uint64_t, first, 1, "the first seed");
ABSL_FLAG(uint64_t, seeds, 100, "how many seeds, for each scheme");
ABSL_FLAG(
    uint64_t, cache_bytes, 0,
    "a cache of that size decides which lines that nobody has flushed are "
    "durable; 0: chance does");
ABSL_FLAG(std::string, scheme, "", "only this scheme, or family of them");

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Explores crashes of the engine, by seed.");
  absl::ParseCommandLine(argc, argv);
  kamino::engine::crash::Campaign campaign;
  campaign.first = absl::GetFlag(FLAGS_first);
  campaign.seeds = absl::GetFlag(FLAGS_seeds);
  campaign.scheme = absl::GetFlag(FLAGS_scheme);
  campaign.run.explorer.cache_bytes = absl::GetFlag(FLAGS_cache_bytes);
  const auto result = kamino::engine::crash::RunCampaign(campaign);
  std::printf("%s%s%s", result.reached.c_str(),
              "(branches come by: at work, "
              "in recoveries)\n",
              result.report.c_str());
  return result.failed ? 1 : 0;
}
