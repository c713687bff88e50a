// A node's storage as the source or the place of a state transfer.
#ifndef KAMINO_NODE_STORAGE_STORAGE_COPY_H_
#define KAMINO_NODE_STORAGE_STORAGE_COPY_H_

#include <functional>
#include <optional>
#include <string>

#include "node/storage/storage.h"
#include "replica/snapshot_reader.h"
#include "replica/snapshot_writer.h"
#include "replica/state_copy.h"

namespace kamino::node {

class StorageCopy final : public replica::StateCopy {
 public:
  // `settle` flushes what a head has stored and not flushed; `voided` is called
  // before the heap is received anew. `storage` must outlive this.
  StorageCopy(Storage* storage, std::function<void()> settle,
              std::function<void()> voided);

  void BeginSending(uint64_t sequence) override;
  void PrepareCut() override { settle_(); }
  size_t BytesLeft() const override { return writer_->BytesLeft(); }
  size_t NextChunk(std::string* chunk) override;
  void FinishSending(uint64_t sequence, std::string* chunk) override;
  void EndSending() override { writer_.reset(); }
  void BeginReceiving() override;
  absl::StatusOr<Taken> Take(absl::string_view chunk) override;
  absl::Status FinishReceiving(uint64_t sequence) override;

 private:
  Storage* const storage_;
  const std::function<void()> settle_;
  const std::function<void()> voided_;
  // Of the objects; what lies before is each node's own.
  const replica::SnapshotScope scope_;
  std::optional<replica::SnapshotWriter> writer_;
  std::optional<replica::SnapshotReader> reader_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_STORAGE_COPY_H_
