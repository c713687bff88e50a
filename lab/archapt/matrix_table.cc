#include "lab/archapt/matrix_table.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/baselines/checked_word.h"

namespace kamino::engine {

using archapt_format::kMostColumns;
using archapt_format::kSlotBytes;
using archapt_format::SlotHeader;

namespace {

uint64_t* IdsOf(SlotHeader* header) {
  return reinterpret_cast<uint64_t*>(header + 1);
}

absl::Status Damaged(size_t slot, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("the log is damaged: its matrix in slot ", slot, " ", what));
}

// Those of 0 are not 0: a line that a medium gives as zeros is no empty slot.
uint64_t MakeSealed(uint64_t number, uint64_t seed) {
  return MakeCheckedAlways(number, seed ^ 1);
}
uint64_t MakeLost(uint64_t columns, uint64_t seed) {
  return MakeCheckedAlways(columns, seed ^ 2);
}

// The payload of a block, allocated or free; empty: none begins there.
absl::Span<std::byte> PayloadAt(const Heap& heap, ObjectId id) {
  using namespace heap_format;  // NOLINT: many of its names
  Region* const region = heap.region();
  if (id % kUnitBytes != 0 || id < heap.objects_begin() + kUnitBytes ||
      id >= heap.objects_end()) {
    return {};
  }
  const uint64_t word = HeaderOf(region->base(), id)->word;
  if (!IsBlock(word) ||
      UnitsOf(word) > (heap.objects_end() - id) / kUnitBytes) {
    return {};
  }
  return {region->base() + id, PayloadBytes(UnitsOf(word))};
}

}  // namespace

SlotHeader* MatrixTable::At(size_t slot) const {
  return reinterpret_cast<SlotHeader*>(heap_->region()->base() + begin_ +
                                       slot * kSlotBytes);
}

uint64_t MatrixTable::CheckOf(size_t slot, uint64_t number) const {
  SlotHeader* const header = At(slot);
  const uint64_t seed =
      XXH3_64bits(IdsOf(header), header->columns * sizeof(uint64_t)) ^ number ^
      SeedAt(slot);
  return XXH3_64bits_withSeed(
      &header->block, offsetof(SlotHeader, check) - offsetof(SlotHeader, block),
      seed);
}

void MatrixTable::Store(uint64_t* word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
  heap_->region()->Flush(word, sizeof(*word));
}

absl::Status MatrixTable::Format() {
  for (size_t slot = 0; slot < slots_; ++slot) {
    uint64_t* const sealed = &At(slot)->sealed;
    const uint64_t none = MakeSealed(0, SeedAt(slot));
    if (*sealed != 0 && *sealed != none) {
      return Damaged(slot, "is there before anything is in the log");
    }
    Store(sealed, none);
  }
  heap_->region()->Drain();
  return absl::OkStatus();
}

void MatrixTable::Write(size_t slot, const Matrix& matrix, ObjectId block) {
  if (!checked_) return;
  Region* const region = heap_->region();
  const size_t columns = matrix.columns.size();
  const uint64_t sums_bytes = SumsBytes(columns, matrix.rows);
  std::byte* const sums = region->base() + block;
  ComputeSums(matrix, seed_, sums);
  region->Flush(sums, sums_bytes);
  SlotHeader* const header = At(slot);
  header->sealed = MakeSealed(0, SeedAt(slot));
  header->lost = MakeLost(0, SeedAt(slot));
  header->block = block;
  header->columns = static_cast<uint32_t>(columns);
  header->rows = static_cast<uint32_t>(matrix.rows);
  header->sums_check = XXH3_64bits(sums, sums_bytes);
  std::fill(std::begin(header->unused), std::end(header->unused), 0);
  for (size_t j = 0; j < columns; ++j) {
    IdsOf(header)[j] = matrix.columns[j].id;
  }
  header->check = CheckOf(slot, matrix.number);
  region->Flush(header, sizeof(*header) + columns * sizeof(uint64_t));
}

void MatrixTable::Seal(size_t slot, uint64_t number) {
  if (checked_) Store(&At(slot)->sealed, MakeSealed(number, SeedAt(slot)));
}

void MatrixTable::Clear(size_t slot) { Seal(slot, 0); }

void MatrixTable::SetLost(size_t slot, uint64_t lost) {
  if (lost == 0) {
    Clear(slot);
  } else {
    Store(&At(slot)->lost, MakeLost(lost, SeedAt(slot)));
  }
}

absl::StatusOr<MatrixTable::Found> MatrixTable::ReadSlot(size_t slot,
                                                         uint64_t number,
                                                         uint64_t lost) const {
  SlotHeader* const header = At(slot);
  const uint64_t columns = header->columns;
  if (columns < 1 || columns > kMostColumns || (lost >> columns) != 0 ||
      header->check != CheckOf(slot, number)) {
    return Damaged(slot, "is not described");
  }
  Found found;
  found.slot = slot;
  found.lost = lost;
  found.matrix.number = number;
  found.matrix.rows = header->rows;
  for (size_t j = 0; j < columns; ++j) {
    const ObjectId id = IdsOf(header)[j];
    const absl::Span<std::byte> payload = PayloadAt(*heap_, id);
    // Others than those that are lost may be gone by now.
    if (lost != 0 && (lost >> j & 1) == 0) {
      found.matrix.columns.push_back({id, {}});
      continue;
    }
    if (payload.empty() || LinesFor(payload.size()) > header->rows) {
      return Damaged(slot, absl::StrCat("has no object at offset ", id));
    }
    found.matrix.columns.push_back({id, payload});
  }
  if (lost != 0) return found;
  const absl::Span<std::byte> block = PayloadAt(*heap_, header->block);
  const uint64_t sums_bytes = SumsBytes(columns, header->rows);
  if (block.size() < sums_bytes ||
      XXH3_64bits(block.data(), sums_bytes) != header->sums_check) {
    return Damaged(slot, "has other sums");
  }
  found.sums = block.data();
  return found;
}

absl::StatusOr<std::vector<MatrixTable::Found>> MatrixTable::Read() const {
  std::vector<Found> all;
  for (size_t slot = 0; slot < slots_; ++slot) {
    const SlotHeader& header = *At(slot);
    const uint64_t number = NumberIn(header.sealed);
    const uint64_t lost = NumberIn(header.lost);
    if (header.sealed != MakeSealed(number, SeedAt(slot))) {
      return Damaged(slot, "has no number");
    }
    if (number == 0) continue;
    if (header.lost != MakeLost(lost, SeedAt(slot))) {
      return Damaged(slot, "has no account of losses");
    }
    ASSIGN_OR_RETURN(Found found, ReadSlot(slot, number, lost));
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace kamino::engine
