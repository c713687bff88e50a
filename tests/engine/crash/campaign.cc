#include "tests/engine/crash/campaign.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/engine/crash/coverage.h"

namespace kamino::engine::crash {
namespace {

// For the signal handler, which may not allocate.
char replay_text[256];

// "rewind" names all that begin with "rewind-".
bool Named(const Scheme& scheme, const std::string& name) {
  return scheme.name == name || absl::StartsWith(scheme.name, name + "-");
}

std::string ReplayCommand(const std::string& scheme, uint64_t seed,
                          const ExplorerOptions& options) {
  std::string command =
      absl::StrCat("make crash SCHEME=", scheme, " FIRST=", seed, " SEEDS=1");
  if (options.cache_bytes != 0) {
    absl::StrAppend(&command, " CACHE=", options.cache_bytes);
  }
  return command;
}

void SayHowToReplay(int signal_number) {
  const char text[] = "\nthe process died in a run; to repeat it:\n  ";
  // Nothing can be done when this fails.
  if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ||
      write(STDERR_FILENO, replay_text, strlen(replay_text)) < 0) {
  }
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

}  // namespace

CampaignResult RunCampaign(const Campaign& campaign) {
  for (int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    signal(number, SayHowToReplay);
  }
  ForgetReached();
  CampaignResult result;
  bool any = false;
  for (const Scheme& scheme : Schemes()) {
    if (!campaign.scheme.empty() && !Named(scheme, campaign.scheme)) continue;
    if (std::any_of(
            campaign.but.begin(), campaign.but.end(),
            [&](const std::string& name) { return Named(scheme, name); })) {
      continue;
    }
    any = true;
    ExplorerCounts counts;
    RunResult sum;
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < campaign.seeds; ++i) {
      const uint64_t seed = campaign.first + i;
      const std::string replay =
          ReplayCommand(scheme.name, seed, campaign.run.explorer);
      std::strncpy(replay_text, (replay + "\n").c_str(),
                   sizeof(replay_text) - 1);
      const RunResult run = Run(scheme, seed, campaign.run);
      counts.points += run.counts.points;
      counts.images += run.counts.images;
      counts.torn_images += run.counts.torn_images;
      counts.deep_images += run.counts.deep_images;
      counts.repaired += run.counts.repaired;
      counts.losses += run.counts.losses;
      sum.committed += run.committed;
      sum.aborted += run.aborted;
      sum.full += run.full;
      sum.conflicts += run.conflicts;
      if (run.failure.empty()) continue;
      result.failed = true;
      absl::StrAppend(&result.report, "seed ", seed, " of ", run.failure,
                      "to repeat it:\n  ", replay, "\n");
      return result;
    }
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    result.images += counts.images;
    result.repaired += counts.repaired;
    result.losses += counts.losses;
    result.committed += sum.committed;
    result.full += sum.full;
    absl::StrAppendFormat(
        &result.report,
        "%s: %d seeds, %d commits, %d aborts (%d for conflicts, %d for want "
        "of space), %d crash points, %d images (%d torn, %d within recovery), "
        "%.1f s, %.0f us an image\n",
        scheme.name, campaign.seeds, sum.committed, sum.aborted, sum.conflicts,
        sum.full, counts.points, counts.images, counts.torn_images,
        counts.deep_images, took.count(), took.count() / counts.images * 1e6);
    if (scheme.coded) {
      absl::StrAppendFormat(&result.report,
                            "  of those %d had lines made again, and %d had "
                            "objects that were lost\n",
                            counts.repaired, counts.losses);
    }
  }
  result.not_reached = NotReached();
  result.reached = ReachedReport();
  if (!any) {
    result.failed = true;
    absl::StrAppend(&result.report, "no scheme is named ", campaign.scheme,
                    "\n");
  }
  return result;
}

}  // namespace kamino::engine::crash
