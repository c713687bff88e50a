#include "lab/archapt/undo_header.h"

#include "engine/baselines/checked_word.h"

namespace kamino::engine {
namespace {

uint64_t SeedOfTail(uint64_t seed) { return seed ^ 1; }
uint64_t SeedOfWatermark(uint64_t seed) { return seed ^ 2; }
uint64_t SeedOfCommit(uint64_t seed) { return seed ^ 3; }
uint64_t SeedOfGiven(uint64_t seed) { return seed ^ 4; }

}  // namespace

std::optional<UndoHeader::Words> UndoHeader::Read() const {
  const auto tail = ReadChecked(header_->tail, SeedOfTail(seed_));
  const auto watermark =
      ReadChecked(header_->watermark, SeedOfWatermark(seed_));
  const auto commit = ReadChecked(header_->newest_commit, SeedOfCommit(seed_));
  const auto given = ReadChecked(header_->given, SeedOfGiven(seed_));
  if (!tail.has_value() || !watermark.has_value() || !commit.has_value() ||
      !given.has_value()) {
    return std::nullopt;
  }
  return Words{*tail, *watermark, *commit, *given};
}

void UndoHeader::StoreWatermark(uint64_t watermark) {
  Put(&header_->watermark, watermark, SeedOfWatermark(seed_));
  Persist();
}

void UndoHeader::StoreTail(uint64_t tail, uint64_t newest_commit) {
  Put(&header_->newest_commit, newest_commit, SeedOfCommit(seed_));
  Put(&header_->tail, tail, SeedOfTail(seed_));
  Persist();
}

void UndoHeader::StoreRecovered(uint64_t watermark, uint64_t given,
                                uint64_t tail) {
  Put(&header_->given, given, SeedOfGiven(seed_));
  StoreWatermark(watermark);
  Put(&header_->tail, tail, SeedOfTail(seed_));
  Persist();
}

void UndoHeader::Put(uint64_t* word, uint64_t number, uint64_t seed) {
  __atomic_store_n(word, MakeChecked(number, seed), __ATOMIC_RELAXED);
}

void UndoHeader::Persist() { region_->Persist(header_, sizeof(*header_)); }

}  // namespace kamino::engine
