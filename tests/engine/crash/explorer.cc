#include "tests/engine/crash/explorer.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/explore.h"
#include "tests/engine/crash/coverage.h"
#include "tests/engine/crash/image_plan.h"
#include "tests/engine/crash/scheduler.h"

namespace kamino::engine::crash {
namespace {

constexpr size_t kLine = SimRegion::kLineBytes;
constexpr size_t kWord = SimRegion::kWordBytes;

// Structure is a matter of which objects there are and what they hold, so it
// need not be looked at in each image.
constexpr uint64_t kStructureOneIn = 16;

template <typename Regions>
std::vector<Region*> Pointers(const Regions& regions) {
  std::vector<Region*> pointers;
  for (const auto& region : regions) pointers.push_back(region.get());
  return pointers;
}

}  // namespace

Explorer::Explorer(const Scheme* scheme, uint64_t seed,
                   const ExplorerOptions& options)
    : scheme_(*scheme),
      options_(options),
      random_(seed),
      reached_(ReachedByStore().size()) {
  for (const auto& count : ReachedByStore()) {
    reached_before_.push_back(count.load());
  }
  for (size_t i = 0; i < scheme_.areas.size(); ++i) {
    const size_t bytes = scheme_.areas[i].bytes;
    live_.push_back(absl::make_unique<SimRegion>(bytes));
    deep_.push_back(absl::make_unique<SimRegion>(bytes));
    scratch_.push_back(absl::make_unique<PlainRegion>(bytes));
    if (options_.decorate) {
      decorated_.push_back(options_.decorate(live_.back().get(), i));
    } else {
      decorated_.push_back(nullptr);
    }
    regions_.push_back(decorated_.back() ? decorated_.back().get()
                                         : live_.back().get());
  }
  scratch_regions_ = Pointers(scratch_);
  deep_regions_ = Pointers(deep_);
  for (auto& region : live_) {
    region->SetDrainHook([this] { Hooked("at a drain", 100, 100); });
    region->SetFlushHook([this] {
      Hooked("at a flush", options_.flush_percent, options_.switch_percent);
    });
  }
  for (auto& region : deep_) {
    region->SetDrainHook([this] { DeepCrashPoint(); });
  }
}

void Explorer::Restart(const Survivor& survivor) {
  for (size_t i = 0; i < live_.size(); ++i) {
    live_[i]->Reset(survivor.memory[i].data());
  }
  Note("a crash; what it left is the beginning now");
}

void Explorer::Note(std::string what) { notes_.push_back(std::move(what)); }

void Explorer::Explore(bool on) {
  if (on && !started_ && options_.at_start) options_.at_start();
  started_ |= on;
  exploring_ = on;
  branch_counts.store(on ? &ReachedByStore() : nullptr);
}

void Explorer::ActAs(int thread) {
  for (auto& region : live_) region->ActAs(thread);
}

void Explorer::Fail(const std::string& failure) {
  if (failed()) return;
  constexpr size_t kMostNotes = 40;
  failure_ = absl::StrCat("scheme ", scheme_.name, "\n");
  const size_t first =
      notes_.size() > kMostNotes ? notes_.size() - kMostNotes : 0;
  if (first > 0) absl::StrAppend(&failure_, "  ... ", first, " steps\n");
  for (size_t i = first; i < notes_.size(); ++i) {
    absl::StrAppend(&failure_, "  ", notes_[i], "\n");
  }
  absl::StrAppend(&failure_, failure);
  exploring_ = recovering_deep_ = false;
}

std::optional<Survivor> Explorer::TakeSurvivor() {
  return std::exchange(survivor_, std::nullopt);
}

std::vector<Explorer::Piece> Explorer::LinesOf(const Memory& memory) const {
  std::vector<Piece> pieces;
  for (size_t area = 0; area < memory.size(); ++area) {
    for (SimRegion::AtRisk& line : memory[area]->LinesAtRisk()) {
      pieces.push_back({area, line.offset, kLine, std::move(line.outcomes)});
    }
  }
  return pieces;
}

std::vector<Explorer::Piece> Explorer::WordsOf(const std::vector<Piece>& lines,
                                               const Memory& memory) {
  std::vector<Piece> words;
  for (const Piece& line : lines) {
    const std::byte* durable = memory[line.area]->durable() + line.offset;
    for (size_t at = 0; at < kLine; at += kWord) {
      Piece word{line.area, line.offset + at, kWord, {}};
      for (const std::byte* outcome : line.outcomes) {
        if (std::memcmp(outcome + at, durable + at, kWord) == 0) continue;
        word.outcomes.push_back(outcome + at);
      }
      if (!word.outcomes.empty()) words.push_back(std::move(word));
    }
  }
  return words;
}

bool Explorer::SeenBefore(const std::vector<Piece>& lines) {
  uint64_t seen = expectations_;
  for (const Piece& line : lines) {
    seen = seen * 31 + line.area * 7 + line.offset;
    for (const std::byte* outcome : line.outcomes) {
      seen = XXH3_64bits_withSeed(outcome, kLine, seen);
    }
  }
  for (const auto& region : live_) seen = seen * 31 + region->drains();
  return std::exchange(last_seen_, seen) == seen;
}

// What is seldom reached is seldom right.
void Explorer::LookAtBranches() {
  constexpr int kCloseLooks = 5;
  const BranchCounts& counts = ReachedByStore();
  for (size_t i = 0; i < counts.size(); ++i) {
    if (reached_[i] || counts[i].load() == reached_before_[i]) continue;
    reached_[i] = true;
    close_looks_ = kCloseLooks;
  }
}

void Explorer::Hooked(const char* where, uint64_t crash_percent,
                      uint64_t switch_percent) {
  if (!exploring_) return;
  LookAtBranches();
  if (random_() % 10000 < crash_percent * percent_ || close_looks_ > 0) {
    if (close_looks_ > 0) --close_looks_;
    CrashPoint(where);
  }
  if (scheme_.switches_within_calls && random_() % 100 < switch_percent) {
    MaySwitch();
  }
}

void Explorer::CrashPoint(const char* where) {
  if (!exploring_) return;
  const NoSwitching as_one;
  const std::vector<Piece> lines = LinesOf(live_);
  if (SeenBefore(lines)) return;
  ++counts_.points;
  TryImages(live_, lines, options_.exhaustive, options_.most, /*deep=*/false,
            where);
  const uint64_t whole = counts_.images;
  const uint64_t deep = counts_.deep_images;
  TryImages(live_, WordsOf(lines, live_), options_.exhaustive_words,
            options_.most_words, /*deep=*/false, where);
  counts_.torn_images += counts_.images - whole - (counts_.deep_images - deep);
}

void Explorer::DeepCrashPoint() {
  if (!recovering_deep_) return;
  ++counts_.points;
  const uint64_t before = counts_.images;
  TryImages(deep_, LinesOf(deep_), options_.exhaustive_deep, options_.most_deep,
            /*deep=*/true, "within the recovery of such an image");
  counts_.deep_images += counts_.images - before;
}

void Explorer::TryImages(const Memory& memory, const std::vector<Piece>& pieces,
                         size_t exhaustive, size_t most, bool deep,
                         const char* where) {
  std::vector<uint8_t> outcomes;
  for (const Piece& piece : pieces) outcomes.push_back(piece.outcomes.size());
  for (const Picks& picks : PlanImages(outcomes, exhaustive, most, &random_)) {
    if (failed()) return;
    for (size_t i = 0; i < memory.size(); ++i) {
      std::memcpy(scratch_[i]->base(), memory[i]->durable(), memory[i]->size());
    }
    for (size_t i = 0; i < picks.size(); ++i) {
      const Piece& piece = pieces[i];
      if (picks[i] == 0) continue;
      std::memcpy(scratch_[piece.area]->base() + piece.offset,
                  piece.outcomes[picks[i] - 1], piece.length);
    }
    ++counts_.images;
    const uint64_t seed = random_();
    const bool keep = !deep && random_() % ++survivors_ == 0;
    Survivor survivor;
    if (keep) {
      for (const auto& region : scratch_) {
        survivor.memory.emplace_back(region->base(),
                                     region->base() + region->size());
      }
    }
    const bool dig = !deep && random_() % options_.deep_one_in == 0;
    branch_counts.store(&ReachedByRecovery());
    auto found = dig ? CheckDeep(seed) : Check(scratch_regions_, seed);
    branch_counts.store(&ReachedByStore());
    if (failed()) return;  // further down
    if (!found.ok()) {
      Fail(Account(where, pieces, picks, found.status()));
      return;
    }
    if (keep) {
      survivor.found = *std::move(found);
      survivor_ = std::move(survivor);
    }
  }
}

absl::StatusOr<Found> Explorer::CheckDeep(uint64_t seed) {
  for (size_t i = 0; i < deep_.size(); ++i) {
    deep_[i]->Reset(scratch_[i]->base());
  }
  recovering_deep_ = true;
  auto found = Check(deep_regions_, seed);
  recovering_deep_ = false;
  return found;
}

absl::StatusOr<Found> Explorer::Check(const std::vector<Region*>& regions,
                                      uint64_t seed) {
  auto rig = scheme_.open(regions, /*make=*/false);
  if (&regions == &deep_regions_) recovering_deep_ = false;
  if (failed()) return Found();
  if (!rig.ok()) return rig.status();
  auto found = CheckRecovered(**rig, expectation_);
  branch_counts.store(nullptr);
  if (!found.ok()) return found;
  absl::Status checked;
  const World& world = *found->world;
  if (seed % kStructureOneIn == 0) checked = CheckStructure(**rig, world);
  if (checked.ok()) {
    checked = CheckGoesOn(**rig, world, expectation_.recent, seed);
  }
  if (!checked.ok()) return checked;
  return found;
}

std::string Explorer::Account(const char* where,
                              const std::vector<Piece>& pieces,
                              const std::vector<uint8_t>& picks,
                              const absl::Status& wrong) const {
  constexpr size_t kMostPieces = 60;
  std::string account;
  absl::StrAppend(&account, "crash point ", counts_.points, ", ", where,
                  ", image ", counts_.images, "; at risk:\n");
  for (size_t i = 0; i < pieces.size() && i < kMostPieces; ++i) {
    const Piece& piece = pieces[i];
    absl::StrAppend(&account, "  ", scheme_.areas[piece.area].name, " ",
                    piece.offset, " + ", piece.length,
                    picks[i] == 0   ? ": lost"
                    : picks[i] == 1 ? ": kept"
                                    : ": kept as it was at a flush",
                    "\n");
  }
  if (pieces.size() > kMostPieces) {
    absl::StrAppend(&account, "  and ", pieces.size() - kMostPieces, " more\n");
  }
  absl::StrAppend(&account, "wrong: ", wrong.ToString(), "\n");
  return account;
}

}  // namespace kamino::engine::crash
