#include "bench/engine/staged_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "base/status_macros.h"
#include "engine/heap/heap_reader.h"
#include "glog/logging.h"

namespace kamino::bench {
namespace {

using engine::ObjectId;
using engine::Transaction;

// Reads, and nothing else: through a transaction, or the heap where there is
// none.
class ReadingTransaction final : public Transaction {
 public:
  ReadingTransaction(const engine::Heap* heap,
                     std::unique_ptr<Transaction> below,
                     absl::Span<std::byte> sink)
      : heap_(heap), below_(std::move(below)), sink_(sink) {}

  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override {
    return below_ == nullptr ? heap_.Read(id) : below_->Read(id);
  }
  void Prefetch(ObjectId id) const override {
    below_ == nullptr ? heap_.Prefetch(id) : below_->Prefetch(id);
  }
  absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t, uint32_t) override {
    RETURN_IF_ERROR(Read(id).status());
    return sink_.data();
  }
  absl::Status Overwrite(ObjectId id, uint32_t,
                         absl::Span<const std::byte>) override {
    return Read(id).status();
  }
  absl::StatusOr<ObjectId> Alloc(uint32_t) override {
    return absl::UnimplementedError("this stage only reads");
  }
  absl::Status Free(ObjectId) override {
    return absl::UnimplementedError("this stage only reads");
  }
  using Transaction::Commit;
  absl::Status Commit(const engine::CommitOptions& options) override {
    return below_ == nullptr ? absl::OkStatus() : below_->Commit(options);
  }
  absl::Status Abort() override {
    return below_ == nullptr ? absl::OkStatus() : below_->Abort();
  }
  const engine::WriteSet& write_set() const override { return nothing_; }
  std::optional<ObjectId> conflict() const override {
    return below_ == nullptr ? std::nullopt : below_->conflict();
  }
  void ForgetConflict() override {
    if (below_ != nullptr) below_->ForgetConflict();
  }

 private:
  engine::HeapReader heap_;
  const std::unique_ptr<Transaction> below_;
  const absl::Span<std::byte> sink_;
  const engine::WriteSet nothing_;
};

StagedRegion::Does DoneAt(Stage stage, Stage all) {
  if (stage >= all) return StagedRegion::Does::kAll;
  return stage >= Stage::kFences ? StagedRegion::Does::kDrains
                                 : StagedRegion::Does::kNothing;
}

}  // namespace

const char* StageName(Stage stage) {
  switch (stage) {
    case Stage::kLookUp:
      return "index, look-up";
    case Stage::kLocks:
      return "locks";
    case Stage::kRecords:
      return "records, checksums";
    case Stage::kFences:
      return "fences";
    case Stage::kFlushes:
      return "stores, flushes";
    case Stage::kCopies:
      break;
  }
  return "undo copies";
}

StagedStore::StagedStore(OpenedStore* below)
    : below_(*below), sink_(engine::kMaxObjectBytes) {
  CHECK(below_.heap != nullptr && below_.do_stages);
}

void StagedStore::SetStage(Stage stage) {
  // Work that was put off completes in the stage in which it began.
  below_.store->Quiesce();
  stage_ = stage;
  below_.do_stages(
      {DoneAt(stage, Stage::kFlushes), DoneAt(stage, Stage::kCopies)});
}

std::unique_ptr<Transaction> StagedStore::Begin(absl::Duration wait) {
  if (stage_ > Stage::kLocks) return below_.store->Begin(wait);
  return absl::make_unique<ReadingTransaction>(
      below_.heap,
      stage_ == Stage::kLookUp ? nullptr : below_.store->Begin(wait),
      absl::MakeSpan(sink_));
}

}  // namespace kamino::bench
