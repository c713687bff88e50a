// undo-log: the undo copy class of a store that keeps no copies.
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "engine/kamino/undo_copy.h"
#include "engine/kamino/undo_log.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

class LogUndoCopy final : public UndoCopy {
 public:
  explicit LogUndoCopy(std::unique_ptr<UndoLog> log) : log_(std::move(log)) {}

  absl::string_view scheme() const override { return "undo-log"; }
  UndoLog* undo_log() override { return log_.get(); }
  Region* region() const override { return log_->region(); }
  UndoCopyStats stats() const override {
    UndoCopyStats stats;
    stats.bytes_used = log_->bytes_used();
    stats.bytes_total = log_->bytes_total();
    return stats;
  }

  absl::StatusOr<std::byte*> EnsureCopy(ObjectId) override {
    LOG(FATAL) << "an undo log keeps no copies";
  }
  std::byte* CopyOfNew(ObjectId) override { return nullptr; }
  absl::StatusOr<absl::Span<std::byte>> Copy(ObjectId) override {
    return absl::NotFoundError("an undo log keeps no copies");
  }
  void Drop(ObjectId) override {}
  void Unpin(ObjectId) override {}
  void SetEvictionListener(EvictionListener) override {}

 private:
  const std::unique_ptr<UndoLog> log_;
};

}  // namespace

size_t LogUndoCopyBytes(size_t bytes) { return UndoLog::RegionBytes(bytes); }

absl::StatusOr<std::unique_ptr<UndoCopy>> CreateLogUndoCopy(const Heap* heap,
                                                            Region* region) {
  ASSIGN_OR_RETURN(auto log, UndoLog::Create(heap, region));
  return std::unique_ptr<UndoCopy>(new LogUndoCopy(std::move(log)));
}

absl::StatusOr<std::unique_ptr<UndoCopy>> OpenLogUndoCopy(const Heap* heap,
                                                          Region* region) {
  ASSIGN_OR_RETURN(auto log, UndoLog::Open(heap, region));
  return std::unique_ptr<UndoCopy>(new LogUndoCopy(std::move(log)));
}

}  // namespace kamino::engine
