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
#include "tests/engine/crash/coded_objects.h"
#include "tests/engine/crash/coverage.h"
#include "tests/engine/crash/image_plan.h"
#include "tests/engine/crash/scheduler.h"

namespace kamino::engine::crash {
namespace {

constexpr size_t kLine = SimRegion::kLineBytes;
constexpr size_t kWord = SimRegion::kWordBytes;

// The structure depends only on which objects exist and on their content, so it
// need not be checked in each image.
constexpr uint64_t kStructureOneIn = 16;

// A recovery with crash points of its own may exceed the allowance by that many
// images: it may be long.
constexpr uint64_t kMostDeepOver = 400;

// Where images are bounded, so are the switches of threads within calls: a
// scheme that flushes all the time would have millions.
constexpr uint64_t kSwitchesAnImage = 10;

template <typename Regions>
std::vector<Region*> Pointers(const Regions& regions) {
  std::vector<Region*> pointers;
  for (const auto& region : regions) pointers.push_back(region.get());
  return pointers;
}

}  // namespace

Explorer::Explorer(const Scheme* scheme, uint64_t seed,
                   const ExplorerOptions& options)
    : scheme_(*scheme), options_(options), random_(seed) {
  // The previous explorer, which may have failed half way, must not affect this
  // one: a seed runs the same in every process.
  CountBranches(Counting::kNowhere);
  StoreCounts(&reached_before_);
  reached_.resize(reached_before_.size());
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
  if (options_.pages) {
    for (auto& region : live_) region->SyncPages();
    for (auto& region : deep_) region->SyncPages();
  }
  if (options_.cache_bytes != 0) {
    cache_.emplace(options_.cache_bytes, options_.cache_ways);
    for (const auto& region : live_) {
      followed_.emplace_back(region->base(), region->base() + region->size());
    }
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
  if (cache_.has_value()) {
    cache_.emplace(options_.cache_bytes, options_.cache_ways);
    followed_ = survivor.memory;
  }
  Note("a crash; what it left is the beginning now");
}

void Explorer::Note(std::string what) { notes_.push_back(std::move(what)); }

void Explorer::Explore(bool on) {
  if (on && !started_ && options_.at_start) options_.at_start();
  started_ |= on;
  exploring_ = on;
  CountBranches(on ? Counting::kStore : Counting::kNowhere);
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
      if (cache_.has_value() && !line.flushed) continue;
      pieces.push_back({area, line.offset, kLine, std::move(line.outcomes)});
    }
  }
  return pieces;
}

std::vector<Explorer::Piece> Explorer::WholesOf(const std::vector<Piece>& lines,
                                                const Memory& memory) const {
  if (!options_.pages) return lines;
  constexpr size_t kPage = SimRegion::kPageBytes;
  std::vector<Piece> pages;
  for (const Piece& line : lines) {
    const size_t page = line.offset / kPage * kPage;
    if (!pages.empty() && pages.back().area == line.area &&
        pages.back().offset == page) {
      continue;
    }
    const SimRegion& region = *memory[line.area];
    pages.push_back({line.area,
                     page,
                     std::min(kPage, region.size() - page),
                     {region.base() + page}});
  }
  return pages;
}

// The kernel does so at any time. Most pages are clean.
void Explorer::WriteSomePageBack() {
  constexpr size_t kPage = SimRegion::kPageBytes;
  constexpr int kTries = 4;
  for (int i = 0; i < kTries; ++i) {
    SimRegion& region = *live_[random_() % live_.size()];
    const size_t pages = (region.size() + kPage - 1) / kPage;
    region.WritePageBack(random_() % pages * kPage);
  }
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

// Bugs are likely in branches that are seldom reached.
void Explorer::LookAtBranches() {
  constexpr int kCloseLooks = 5;
  StoreCounts(&reached_now_);
  for (size_t i = 0; i < reached_now_.size(); ++i) {
    if (reached_[i] || reached_now_[i] == reached_before_[i]) continue;
    reached_[i] = true;
    close_looks_ = kCloseLooks;
  }
}

// --- The cache.

void Explorer::UseLine(size_t area, size_t line) {
  constexpr uint64_t kLinesOfArea = uint64_t{1} << 32;
  const auto evicted = cache_->Use(area * kLinesOfArea + line);
  if (!evicted.has_value()) return;
  live_[*evicted / kLinesOfArea]->WriteBack(*evicted % kLinesOfArea * kLine);
}

void Explorer::FollowStores() {
  if (!cache_.has_value()) return;
  constexpr size_t kPage = 4096;
  for (size_t area = 0; area < live_.size(); ++area) {
    const std::byte* const now = live_[area]->base();
    std::byte* const before = followed_[area].data();
    const size_t size = live_[area]->size();
    for (size_t page = 0; page < size; page += kPage) {
      const size_t end = std::min(page + kPage, size);
      if (std::memcmp(now + page, before + page, end - page) == 0) continue;
      for (size_t at = page; at < end; at += kLine) {
        if (std::memcmp(now + at, before + at, kLine) == 0) continue;
        std::memcpy(before + at, now + at, kLine);
        UseLine(area, at / kLine);
      }
    }
  }
}

void Explorer::Loaded(absl::Span<const std::byte> bytes) {
  if (!cache_.has_value()) return;
  FollowStores();
  for (size_t area = 0; area < live_.size(); ++area) {
    const size_t begin = bytes.data() - live_[area]->base();
    if (begin >= live_[area]->size()) continue;
    for (size_t at = begin / kLine; at * kLine < begin + bytes.size(); ++at) {
      UseLine(area, at);
    }
  }
}

// --- Crash points.

void Explorer::Hooked(const char* where, uint64_t crash_percent,
                      uint64_t switch_percent) {
  FollowStores();
  if (!exploring_) return;
  if (options_.pages) WriteSomePageBack();
  LookAtBranches();
  const bool closely = close_looks_ > 0;
  if (random_() % 10000 < crash_percent * percent_ || closely) {
    if (closely) --close_looks_;
    CrashPoint(where, closely);
  }
  if (!scheme_.switches_within_calls || random_() % 100 >= switch_percent) {
    return;
  }
  if (switches_ / kSwitchesAnImage < allowance_) {
    ++switches_;
    MaySwitch();
  }
}

void Explorer::CrashPoint(const char* where, bool closely) {
  if (!exploring_) return;
  if (counts_.images >= allowance_ && !closely) return;
  const NoSwitching as_one;
  FollowStores();
  const std::vector<Piece> lines = LinesOf(live_);
  if (SeenBefore(lines)) return;
  ++counts_.points;
  if (expectation_.durable) durable_ = expectation_.durable();
  TryImages(live_, WholesOf(lines, live_), options_.exhaustive, options_.most,
            /*deep=*/false, where);
  const uint64_t whole = counts_.images;
  const uint64_t deep = counts_.deep_images;
  TryImages(live_, WordsOf(lines, live_), options_.exhaustive_words,
            options_.most_words, /*deep=*/false, where);
  counts_.torn_images += counts_.images - whole - (counts_.deep_images - deep);
}

void Explorer::DeepCrashPoint() {
  if (!recovering_deep_) return;
  if (counts_.images > allowance_ &&
      counts_.images - allowance_ > kMostDeepOver) {
    return;
  }
  ++counts_.points;
  const uint64_t before = counts_.images;
  TryImages(deep_, WholesOf(LinesOf(deep_), deep_), options_.exhaustive_deep,
            options_.most_deep, /*deep=*/true,
            "within the recovery of such an image");
  counts_.deep_images += counts_.images - before;
}

void Explorer::TryImages(const Memory& memory, const std::vector<Piece>& pieces,
                         size_t exhaustive, size_t most, bool deep,
                         const char* where) {
  std::vector<uint8_t> outcomes;
  for (const Piece& piece : pieces) outcomes.push_back(piece.outcomes.size());
  std::vector<CodedObjects> coded;
  if (!deep) coded = CodedNow();
  for (Picks& picks : PlanImages(outcomes, exhaustive, most, &random_)) {
    if (failed()) return;
    SpareCoded(coded, pieces, &picks);
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
    if (!deep) may_be_lost_ = MayBeLost();
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
    CountBranches(Counting::kRecovery);
    auto found = dig ? CheckDeep(seed) : Check(scratch_regions_, seed);
    CountBranches(Counting::kStore);
    if (failed()) return;  // further down
    if (!found.ok()) {
      Fail(Account(where, pieces, picks, found.status()));
      return;
    }
    if (keep && found->lost.empty()) {
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

// --- Objects that are coded.

std::vector<CodedObjects> Explorer::CodedNow() const {
  if (!scheme_.coded) return {};
  // A matrix that is being made or given up may or may not count in an image.
  std::vector<CodedObjects> all = scheme_.coded(live_[0]->base());
  for (CodedObjects& one : scheme_.coded(live_[0]->durable())) {
    all.push_back(std::move(one));
  }
  return all;
}

void Explorer::SpareCoded(const std::vector<CodedObjects>& coded,
                          const std::vector<Piece>& pieces,
                          std::vector<uint8_t>* picks) {
  if (coded.empty() || random_() % 4 == 0) return;
  for (const CodedObjects& objects : coded) {
    const size_t hit = random_() % objects.columns.size();
    for (size_t j = 0; j < objects.columns.size(); ++j) {
      if (j == hit) continue;
      const CodedObjects::Column& column = objects.columns[j];
      for (size_t i = 0; i < pieces.size(); ++i) {
        if (pieces[i].area == 0 && pieces[i].offset >= column.id &&
            pieces[i].offset < column.id + column.bytes && (*picks)[i] == 0) {
          (*picks)[i] = 1;
        }
      }
    }
  }
}

std::set<ObjectId> Explorer::MayBeLost() const {
  std::set<ObjectId> beyond;
  if (!scheme_.coded) return beyond;
  // Objects do not change while they are coded.
  for (const CodedObjects& objects : scheme_.coded(scratch_[0]->base())) {
    beyond.merge(BeyondRepair(objects, scratch_[0]->base(), live_[0]->base()));
  }
  return beyond;
}

absl::Status Explorer::CheckLosses(std::unique_ptr<Rig> rig,
                                   const std::vector<Region*>& regions,
                                   const Found& found) {
  auto transaction = rig->store().Begin(absl::ZeroDuration());
  for (ObjectId id : found.lost) {
    const std::string& expected = *found.world->objects.at(id);
    if (std::memcmp(regions[0]->base() + id, expected.data(),
                    expected.size()) == 0) {
      return absl::InternalError(
          absl::StrCat("object ", id, " is reported lost, and is there"));
    }
  }
  transaction.reset();
  // They are not freed, so the next recovery reports the same.
  rig.reset();
  auto again = scheme_.open(regions, /*make=*/false);
  if (!again.ok()) return again.status();
  const auto reported = (*again)->store().recovery_report().lost_objects;
  if (std::set<ObjectId>(reported.begin(), reported.end()) != found.lost) {
    return absl::InternalError("the next recovery reports other losses");
  }
  transaction = (*again)->store().Begin(absl::ZeroDuration());
  for (ObjectId id : found.lost) {
    absl::Status freed = transaction->Free(id);
    if (!freed.ok()) return freed;
  }
  absl::Status done = transaction->Commit();
  if (!done.ok()) return done;
  (*again)->store().Quiesce();
  World rest = *found.world;
  for (ObjectId id : found.lost) rest.objects.erase(id);
  if (done = CheckObjects(**again, rest); !done.ok()) return done;
  transaction.reset();
  again->reset();
  again = scheme_.open(regions, /*make=*/false);
  if (!again.ok()) return again.status();
  if (!(*again)->store().recovery_report().lost_objects.empty()) {
    return absl::InternalError("what is freed is still reported lost");
  }
  return CheckObjects(**again, rest);
}

absl::StatusOr<Found> Explorer::Check(const std::vector<Region*>& regions,
                                      uint64_t seed) {
  auto rig = scheme_.open(regions, /*make=*/false);
  if (&regions == &deep_regions_) recovering_deep_ = false;
  if (failed()) return Found();
  if (!rig.ok()) return rig.status();
  auto found = expectation_.durable
                   ? CheckLagging(**rig, expectation_, durable_, may_be_lost_)
                   : CheckRecovered(**rig, expectation_);
  CountBranches(Counting::kNowhere);
  if (!found.ok()) return found;
  absl::Status checked;
  if ((*rig)->store().recovery_report().repaired_lines > 0) {
    ++counts_.repaired;
  }
  if (!found->lost.empty()) {
    ++counts_.losses;
    checked = CheckLosses(*std::move(rig), regions, *found);
    if (!checked.ok()) return checked;
    return found;
  }
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
