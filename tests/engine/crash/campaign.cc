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

std::string ReplayCommand(const std::string& scheme, uint64_t seed,
                          const RunOptions& options) {
  const RunOptions usual;
  std::string command =
      absl::StrCat("make crash SCHEME=", scheme, " FIRST=", seed, " SEEDS=1");
  if (options.explorer.cache_bytes != 0) {
    absl::StrAppend(&command, " CACHE=", options.explorer.cache_bytes);
  }
  if (options.explorer.pages) absl::StrAppend(&command, " PAGES=1");
  if (options.most_images != kUsualImages) {
    absl::StrAppend(&command, " IMAGES=", options.most_images);
  }
  if (options.steps != usual.steps) {
    absl::StrAppend(&command, " STEPS=", options.steps);
  }
  if (options.percent != usual.percent) {
    absl::StrAppend(&command, " PERCENT=", options.percent);
  }
  return command;
}

std::vector<const Scheme*> SchemesOf(const Campaign& campaign) {
  std::vector<const Scheme*> schemes;
  for (const Scheme& scheme : Schemes()) {
    if (!campaign.scheme.empty() && !Named(scheme, campaign.scheme)) continue;
    const auto& but = campaign.but;
    if (std::any_of(but.begin(), but.end(), [&](const std::string& name) {
          return Named(scheme, name);
        })) {
      continue;
    }
    schemes.push_back(&scheme);
  }
  return schemes;
}

namespace {

using Clock = std::chrono::steady_clock;

// A seed that took longer is reported when it is done.
constexpr double kLongSeconds = 10;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The totals of all seeds of a scheme.
struct Sum {
  ExplorerCounts counts;
  RunResult runs;

  void Add(const RunResult& run) {
    counts.points += run.counts.points;
    counts.images += run.counts.images;
    counts.torn_images += run.counts.torn_images;
    counts.deep_images += run.counts.deep_images;
    counts.repaired += run.counts.repaired;
    counts.losses += run.counts.losses;
    runs.committed += run.committed;
    runs.aborted += run.aborted;
    runs.full += run.full;
    runs.conflicts += run.conflicts;
  }
};

std::string LineOf(const Scheme& scheme, uint64_t seeds, const Sum& sum,
                   double seconds) {
  const ExplorerCounts& counts = sum.counts;
  std::string line = absl::StrFormat(
      "%s: %d seeds, %d commits, %d aborts (%d for conflicts, %d for want "
      "of space), %d crash points, %d images (%d torn, %d within recovery), "
      "%.1f s",
      scheme.name, seeds, sum.runs.committed, sum.runs.aborted,
      sum.runs.conflicts, sum.runs.full, counts.points, counts.images,
      counts.torn_images, counts.deep_images, seconds);
  if (counts.images > 0) {
    absl::StrAppendFormat(&line, ", %.0f us an image",
                          seconds / counts.images * 1e6);
  }
  line += '\n';
  if (scheme.coded) {
    absl::StrAppendFormat(&line,
                          "  of those %d had lines made again, and %d had "
                          "objects that were lost\n",
                          counts.repaired, counts.losses);
  }
  return line;
}

}  // namespace

CampaignResult RunCampaign(const Campaign& campaign) {
  for (int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    signal(number, SayHowToReplay);
  }
  ForgetReached();
  CampaignResult result;
  const std::vector<const Scheme*> schemes = SchemesOf(campaign);
  if (schemes.empty() || campaign.seeds == 0) {
    result.failed = true;
    result.report = schemes.empty() ? absl::StrCat("no scheme is named ",
                                                   campaign.scheme, "\n")
                                    : "no seeds\n";
    return result;
  }
  const auto tell = [&](const std::string& line) {
    if (campaign.progress) campaign.progress(line);
  };
  for (size_t number = 0; number < schemes.size(); ++number) {
    const Scheme& scheme = *schemes[number];
    Sum sum;
    const Clock::time_point start = Clock::now();
    tell(absl::StrCat("scheme ", number + 1, " of ", schemes.size(), ", ",
                      scheme.name, ": seeds ", campaign.first, " to ",
                      campaign.first + campaign.seeds - 1));
    for (uint64_t i = 0; i < campaign.seeds; ++i) {
      const uint64_t seed = campaign.first + i;
      const std::string replay = ReplayCommand(scheme.name, seed, campaign.run);
      std::strncpy(replay_text, (replay + "\n").c_str(),
                   sizeof(replay_text) - 1);
      const Clock::time_point began = Clock::now();
      const RunResult run = Run(scheme, seed, campaign.run);
      sum.Add(run);
      if (run.failure.empty()) {
        const double took = SecondsSince(began);
        if (took < kLongSeconds) continue;
        tell(absl::StrFormat("  seed %d: %.0f s, %d images", seed, took,
                             run.counts.images));
        continue;
      }
      result.failed = true;
      absl::StrAppend(&result.report, "seed ", seed, " of ", run.failure,
                      "to repeat it:\n  ", replay, "\n");
      return result;
    }
    const double seconds = SecondsSince(start);
    tell(absl::StrFormat("  done: %d images, %.1f s", sum.counts.images,
                         seconds));
    result.images += sum.counts.images;
    result.repaired += sum.counts.repaired;
    result.losses += sum.counts.losses;
    result.committed += sum.runs.committed;
    result.full += sum.runs.full;
    result.report += LineOf(scheme, campaign.seeds, sum, seconds);
  }
  result.not_reached = NotReached();
  result.reached = ReachedReport();
  return result;
}

}  // namespace kamino::engine::crash
