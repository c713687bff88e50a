#include "lab/rewind/own_log.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "engine/baselines/baseline_transaction.h"
#include "engine/explore.h"
#include "engine/resource_error.h"
#include "lab/explore.h"

namespace kamino::engine {

absl::Status OwnLog::WithRoom(absl::Duration wait,
                              absl::FunctionRef<absl::Status()> append) {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> deadline;
  while (true) {
    absl::Status appended = append();
    if (ResourceOf(appended) != Resource::kLog) return appended;
    if (!deadline.has_value()) {
      deadline = Clock::now() + absl::ToChronoNanoseconds(std::min(
                                    wait, BaselineTransaction::kForEver));
    } else if (Clock::now() >= *deadline) {
      return appended;
    }
    if (!log_->Checkpoint()) YieldProcessor();
  }
}

absl::Status OwnLog::Append(absl::Span<const Draft> drafts,
                            absl::Duration wait) {
  return WithRoom(wait, [&] { return log_->Append(&own_, drafts); });
}

absl::Status OwnLog::AppendEnd(absl::Span<const Draft> drafts,
                               uint64_t sequence) {
  return WithRoom(options_->log_wait,
                  [&] { return log_->AppendEnd(&own_, drafts, sequence); });
}

void OwnLog::Undo(absl::Span<const LogRecord* const> updates,
                  const InPlaceWriter& writer) {
  log_->AppendCompensations(&own_, updates);
  for (const LogRecord* update : updates) writer.PutBack(*update);
}

bool OwnLog::RollBack(const InPlaceWriter& writer) {
  if (own_.records.empty()) {
    log_->Drop(&own_);
    return false;
  }
  Reached(LabBranch::kRewindUndoes);
  log_->Find(own_);
  // With force, each is durable in its place before the next is named.
  const bool alone = options_->force || options_->form != LogForm::kBatch;
  const size_t most = alone ? 1 : options_->group;
  std::vector<const LogRecord*> updates;
  const std::vector<LogRecord> records = own_.records;
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if (record->old_bytes == nullptr) continue;
    updates.push_back(&*record);
    if (updates.size() < most) continue;
    Undo(updates, writer);
    updates.clear();
  }
  if (!updates.empty()) Undo(updates, writer);
  log_->AppendAborted(&own_);
  return true;
}

std::vector<ObjectId> OwnLog::Leave(bool committed) {
  const bool stay = committed ? options_->keeps_finished() : !options_->force;
  if (!stay) return log_->Clear(&own_);
  log_->Finished(&own_);
  return {};
}

}  // namespace kamino::engine
