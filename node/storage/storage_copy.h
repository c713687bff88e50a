// A node's storage as the source or the target of a state transfer.
#ifndef KAMINO_NODE_STORAGE_STORAGE_COPY_H_
#define KAMINO_NODE_STORAGE_STORAGE_COPY_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "engine/heap/block_map.h"
#include "node/storage/changed_pages.h"
#include "node/storage/storage.h"
#include "replica/state/snapshot_reader.h"
#include "replica/state/snapshot_writer.h"
#include "replica/state/state_copy.h"

namespace kamino::node {

class StorageCopy final : public replica::StateCopy {
 public:
  // `settle` flushes a head's unflushed stores; `voided` is called before the
  // heap is received anew. `storage` must outlive this.
  StorageCopy(Storage* storage, std::function<void()> settle,
              std::function<void()> voided);

  void KeepChanges(uint64_t since, const replica::LogRing& ring) override {
    changed_.Keep(since, ring);
  }
  void ForgetChangesBefore(uint64_t since) override {
    changed_.ForgetBefore(since);
  }
  void ForgetChanges() override { changed_.Forget(); }
  bool KnowsChangesAfter(uint64_t sequence) const override {
    return changed_.KnowsAfter(sequence);
  }
  void BeginSending(uint64_t sequence) override;
  uint64_t BeginSendingChanges(uint64_t sequence, uint64_t after) override;
  void AddWanted(absl::Span<const replica::PageRun> runs) override;
  void PrepareCut() override { settle_(); }
  size_t BytesLeft() const override { return writer_->BytesLeft(); }
  size_t NextChunk(std::string* chunk) override;
  void FinishSending(uint64_t sequence, std::string* chunk) override;
  void EndSending() override { writer_.reset(); }
  void BeginReceiving() override;
  absl::StatusOr<std::vector<replica::PageRun>> BeginReceivingChanges(
      uint64_t after) override;
  absl::StatusOr<Taken> Take(absl::string_view chunk) override;
  absl::Status FinishReceiving(uint64_t sequence) override;

 private:
  // For entries after that mutation, some of which this node may have executed:
  // adds the pages that they store to, and sets the blocks to their earlier
  // state.
  absl::Status TakeOut(uint64_t after, engine::PageSet* pages,
                       engine::BlockMap* blocks) const;
  void Receive();

  Storage* const storage_;
  const std::function<void()> settle_;
  const std::function<void()> voided_;
  // The range of the objects; earlier bytes are each node's own.
  const replica::SnapshotScope scope_;
  ChangedPages changed_;
  std::optional<replica::SnapshotWriter> writer_;
  // Only for changes: the blocks that are allocated according to the received
  // part.
  std::optional<engine::BlockMap> blocks_;
  std::optional<replica::SnapshotReader> reader_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_STORAGE_COPY_H_
