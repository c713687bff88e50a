#include "lab/archapt/matrix_keeper.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lab/archapt/matrix.h"
#include "lab/explore.h"

namespace kamino::engine {
namespace {

// Lines of the longest column.
uint64_t RowsOf(const std::vector<ObjectEntry*>& columns) {
  uint64_t rows = 0;
  for (const ObjectEntry* column : columns) {
    rows = std::max(rows, LinesFor(column->bytes));
  }
  return rows;
}

}  // namespace

// --- Sealing.

LiveMatrix* MatrixKeeper::Start(const std::vector<ObjectEntry*>& columns) {
  const auto block = media_.heap->Reserve(
      static_cast<uint32_t>(SumsBytes(columns.size(), RowsOf(columns))));
  if (!block.ok()) return nullptr;
  LiveMatrix* live;
  {
    MutexLock lock(&backlog_.mutex);
    live = backlog_.matrices.Add(*block, columns);
  }
  if (live == nullptr) media_.heap->Release(*block);
  return live;
}

void MatrixKeeper::Write(const LiveMatrix& live) {
  Matrix matrix;
  matrix.number = live.number;
  for (const ObjectEntry* column : live.columns) {
    matrix.columns.push_back(
        {column->id, {media_.region->base() + column->id, column->bytes}});
  }
  matrix.rows = RowsOf(live.columns);
  media_.table.Write(live.slot, matrix, live.block);
}

void MatrixKeeper::Seal(const LiveMatrix& live) {
  media_.table.Seal(live.slot, live.number);
}

void MatrixKeeper::Finish(const LiveMatrix& live) {
  MutexLock lock(&backlog_.mutex);
  Reached(LabBranch::kArchaptSeals);
  ArchaptStats& stats = backlog_.stats;
  ++stats.matrices;
  for (ObjectEntry* column : live.columns) {
    stats.skipped_lines += CountLines(column->lines);
    column->pending->FlushDone();
    backlog_.pending.Seal(column);
  }
  const size_t columns = live.columns.size();
  stats.sums_lines += LinesFor(SumsBytes(columns, RowsOf(live.columns))) + 2 +
                      (columns + 7) / 8;
}

// --- Dissolving.

void MatrixKeeper::Dissolve(LiveMatrix* matrix) {
  // Columns and their lines stay: it is marked.
  for (const ObjectEntry* column : matrix->columns) {
    FlushLines(media_.region, column->id, column->bytes, column->lines);
  }
  media_.region->Drain();
  media_.table.Clear(matrix->slot);
  media_.region->Drain();
  const ObjectId block = matrix->block;
  {
    MutexLock lock(&backlog_.mutex);
    ++backlog_.stats.dissolved;
    Reached(LabBranch::kArchaptDissolves);
    for (ObjectEntry* column : matrix->columns) {
      backlog_.stats.flushed_lines += CountLines(column->lines);
      backlog_.stats.skipped_lines -= CountLines(column->lines);
      backlog_.pending.Unseal(column);
    }
    backlog_.matrices.Remove(matrix);
  }
  media_.heap->Release(block);
  {
    MutexLock lock(&backlog_.mutex);
    backlog_.matrices.EndDissolving();
  }
  progress_.Announce();
}

void MatrixKeeper::DissolveAll() {
  for (;;) {
    LiveMatrix* next;
    {
      MutexLock lock(&backlog_.mutex);
      next = backlog_.matrices.StartDissolvingOne();
    }
    if (next == nullptr) return;
    Dissolve(next);
  }
}

}  // namespace kamino::engine
