#include "lab/archapt/live_matrices.h"

#include "absl/memory/memory.h"

namespace kamino::engine {

LiveMatrix* LiveMatrices::Add(ObjectId block,
                              const std::vector<ObjectEntry*>& columns) {
  if (free_slots_.empty()) return nullptr;
  auto matrix = absl::make_unique<LiveMatrix>();
  matrix->number = next_number_++;
  matrix->slot = free_slots_.back();
  free_slots_.pop_back();
  matrix->block = block;
  matrix->columns = columns;
  for (ObjectEntry* column : columns) column->matrix = matrix.get();
  matrix->place = matrices_.size();
  matrices_.push_back(std::move(matrix));
  return matrices_.back().get();
}

void LiveMatrices::StartDissolving(LiveMatrix* matrix) {
  matrix->dissolving = true;
  ++dissolving_;
}

LiveMatrix* LiveMatrices::StartDissolvingOne() {
  for (const auto& matrix : matrices_) {
    if (matrix->dissolving ||
        matrix->columns.front()->state != MatrixState::kSealed) {
      continue;
    }
    StartDissolving(matrix.get());
    return matrix.get();
  }
  return nullptr;
}

void LiveMatrices::Remove(LiveMatrix* matrix) {
  free_slots_.push_back(matrix->slot);
  matrices_.back()->place = matrix->place;
  std::swap(matrices_[matrix->place], matrices_.back());
  matrices_.pop_back();
}

void LiveMatrices::AddFreeSlots(absl::Span<const size_t> slots) {
  free_slots_.insert(free_slots_.end(), slots.begin(), slots.end());
}

}  // namespace kamino::engine
