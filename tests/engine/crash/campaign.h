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
  // Or the common beginning of several names, up to a '-'; empty: all of them.
  std::string scheme;
  std::vector<std::string> but;  // the same, of those left out
  RunOptions run;
  // Gets a line when a scheme begins and when it ends, and for each seed that
  // took long; may be null.
  std::function<void(const std::string& line)> progress;
};

// The schemes that the campaign's `scheme` and `but` select.
std::vector<const Scheme*> SchemesOf(const Campaign& campaign);

struct CampaignResult {
  bool failed = false;
  uint64_t images = 0;
  uint64_t repaired = 0;   // images with repaired lines
  uint64_t losses = 0;     // images with lost objects
  uint64_t committed = 0;  // transactions
  uint64_t full = 0;       // refused for lack of space
  // Branches of the engine that it should have reached and has not; and how
  // often it has reached each.
  std::vector<std::string> not_reached;
  std::string reached;
  std::string report;  // a line for each scheme; the account of the failure
};

// The command that repeats a run.
std::string ReplayCommand(const std::string& scheme, uint64_t seed,
                          const RunOptions& options);

// Without a scheme or a seed it fails. Stops at the first failure. If the
// process dies in a run, it prints to stderr how to repeat that run.
CampaignResult RunCampaign(const Campaign& campaign);

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_CAMPAIGN_H_
