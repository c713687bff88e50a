// Explores more seeds than a test has time for, or repeats one.
//
// Reports its progress on stderr. Exit code 1: an image was not right; 2: wrong
// flags.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/crash/campaign.h"
#include "tests/engine/crash/rig.h"

ABSL_FLAG(uint64_t, first, 1, "the first seed");
ABSL_FLAG(uint64_t, seeds, 100, "how many seeds, for each scheme; at least 1");
ABSL_FLAG(uint64_t, images, kamino::engine::crash::kUsualImages,
          "about so many images of each seed; 0: as many as there are");
ABSL_FLAG(
    uint64_t, cache_bytes, 0,
    "a cache of that size, 704 to 1073741824, decides which lines that nobody "
    "has flushed are durable; 0: chance does");
ABSL_FLAG(bool, pages, false,
          "the memory is a file on a disk, which a drain syncs in pages");
ABSL_FLAG(int, steps, kamino::engine::crash::RunOptions().steps,
          "of a store's life, 1 to 100000");
ABSL_FLAG(uint64_t, percent, kamino::engine::crash::RunOptions().percent,
          "of the crash points while threads run, 1 to 100");
ABSL_FLAG(std::string, scheme, "", "only this scheme, or family of them");

namespace {

using kamino::engine::crash::Campaign;

// From a single set of the cache to more than any heap here.
constexpr uint64_t kLeastCache = 11 * 64;
constexpr uint64_t kMostCache = uint64_t{1} << 30;
// Each commit takes two steps: with more, REWIND's sequences, which advance in
// large steps, would run out.
constexpr int kMostSteps = 100'000;

// The mistake in the flags; nullopt: none.
std::optional<std::string> Wrong(const Campaign& campaign) {
  if (kamino::engine::crash::SchemesOf(campaign).empty()) {
    std::string names;
    for (const auto& scheme : kamino::engine::crash::Schemes()) {
      absl::StrAppend(&names, " ", scheme.name);
    }
    return absl::StrCat(
        "no scheme is named ", campaign.scheme,
        "; there are, or what they begin with up to a '-':", names);
  }
  if (campaign.seeds == 0 || campaign.first + campaign.seeds <= campaign.seeds)
    return absl::StrCat(campaign.seeds, " seeds from ", campaign.first,
                        " on: both are 1 at least");
  const uint64_t cache = campaign.run.explorer.cache_bytes;
  if (cache != 0 && campaign.run.explorer.pages) {
    return "--cache_bytes is of memory, --pages of a disk: give one of them";
  }
  if (cache != 0 && (cache < kLeastCache || cache > kMostCache)) {
    return absl::StrCat("a cache of ", cache, " bytes: ", kLeastCache, " to ",
                        kMostCache, ", or 0 for none");
  }
  if (campaign.run.steps < 1 || campaign.run.steps > kMostSteps) {
    return absl::StrCat(campaign.run.steps, " steps: 1 to ", kMostSteps);
  }
  if (campaign.run.percent < 1 || campaign.run.percent > 100) {
    return absl::StrCat(campaign.run.percent,
                        " percent of the crash points: 1 to 100");
  }
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Explores crashes of the engine, by seed.");
  const auto words = absl::ParseCommandLine(argc, argv);
  Campaign campaign;
  campaign.first = absl::GetFlag(FLAGS_first);
  campaign.seeds = absl::GetFlag(FLAGS_seeds);
  campaign.scheme = absl::GetFlag(FLAGS_scheme);
  campaign.run.most_images = absl::GetFlag(FLAGS_images);
  campaign.run.explorer.cache_bytes = absl::GetFlag(FLAGS_cache_bytes);
  campaign.run.explorer.pages = absl::GetFlag(FLAGS_pages);
  campaign.run.steps = absl::GetFlag(FLAGS_steps);
  campaign.run.percent = absl::GetFlag(FLAGS_percent);
  auto wrong = Wrong(campaign);
  if (words.size() > 1) wrong = absl::StrCat("no flag: ", words[1]);
  if (wrong.has_value()) {
    std::fprintf(stderr, "crash: %s\n", wrong->c_str());
    return 2;
  }
  campaign.progress = [](const std::string& line) {
    std::fprintf(stderr, "%s\n", line.c_str());
  };
  const auto result = kamino::engine::crash::RunCampaign(campaign);
  std::printf("%s%s%s", result.reached.c_str(),
              "(branches come by: at work, "
              "in recoveries)\n",
              result.report.c_str());
  return result.failed ? 1 : 0;
}
