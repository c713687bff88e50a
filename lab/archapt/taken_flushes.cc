#include "lab/archapt/taken_flushes.h"

#include <utility>

#include "engine/explore.h"
#include "lab/explore.h"

namespace kamino::engine {

void TakenFlushes::Take(ObjectId id, const LineRange& logged) {
  if (!backlog_.pending.MayHave(id)) return;
  for (;;) {
    LiveMatrix* dissolve = nullptr;
    SplitLines lines;
    uint32_t bytes = 0;
    {
      MutexLock lock(&backlog_.mutex);
      ObjectEntry* const entry = backlog_.pending.Find(id);
      if (entry == nullptr) return;
      if (entry->state == MatrixState::kNone ||
          entry->state == MatrixState::kWaiting) {
        commits_.push_back(entry->pending);
        bytes = entry->bytes;
        lines = Split(backlog_.pending.TakePending(entry), logged);
        backlog_.stats.flushed_lines += CountLines(lines.rest);
        backlog_.stats.replaced_lines += CountLines(lines.within);
      } else if (entry->state == MatrixState::kSealed &&
                 !entry->matrix->dissolving) {
        dissolve = entry->matrix;
        backlog_.matrices.StartDissolving(dissolve);
      }
    }
    if (bytes != 0) {
      FlushLines(&region_, id, bytes, lines.rest);
      if (!lines.within.empty()) {
        owed_.push_back({id, bytes, std::move(lines.within)});
      }
      return;
    }
    if (dissolve != nullptr) {
      matrices_.Dissolve(dissolve);
      return;
    }
    // Another thread is about to seal or to dissolve it, and waits for no lock.
    Reached(LabBranch::kArchaptMeetsOthersWork);
    YieldProcessor();
  }
}

void TakenFlushes::Settle() {
  owed_.clear();
  for (PendingCommit* commit : commits_) commit->FlushDone();
  commits_.clear();
}

void TakenFlushes::Finish() {
  if (commits_.empty()) return;
  for (const Owed& owed : owed_) {
    FlushLines(&region_, owed.id, owed.bytes, owed.lines);
  }
  region_.Drain();
  Settle();
}

}  // namespace kamino::engine
