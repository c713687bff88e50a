// Many runs, scheme by scheme and seed by seed, and how to repeat one that
// fails.
#ifndef KAMINO_TESTS_ENGINE_CRASH_CAMPAIGN_H_
#define KAMINO_TESTS_ENGINE_CRASH_CAMPAIGN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/engine/crash/workload.h"

namespace kamino::engine::crash {

struct Campaign {
  uint64_t first = 1;
  uint64_t seeds = 1;  // of each scheme
  // Or what names of several begin with, up to a '-'; empty: all of them.
  std::string scheme;
  std::vector<std::string> but;  // the same, of those left out
  RunOptions run;
  // Is told, in a line, when a scheme is begun and when it is done, and of each
  // seed that took long; null: nobody.
  std::function<void(const std::string& line)> progress;
};

// Those that the campaign's `scheme` and `but` let take part.
std::vector<const Scheme*> SchemesOf(const Campaign& campaign);

struct CampaignResult {
  bool failed = false;
  uint64_t images = 0;
  uint64_t repaired = 0;   // images of which lines were made again
  uint64_t losses = 0;     // images of which objects were lost
  uint64_t committed = 0;  // transactions
  uint64_t full = 0;       // refused for want of space
  // Branches of the engine that it ought to have come by and has not; and how
  // often it has come by each.
  std::vector<std::string> not_reached;
  std::string reached;
  std::string report;  // a line for each scheme; the account of the failure
};

// What does a run again.
std::string ReplayCommand(const std::string& scheme, uint64_t seed,
                          const RunOptions& options);

// Of no scheme or no seed: a failure. Stops at the first failure. If the
// process dies in a run, it says on stderr how to repeat that run.
CampaignResult RunCampaign(const Campaign& campaign);

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_CAMPAIGN_H_
