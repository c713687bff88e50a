// A node's storage as the source or the place of a state transfer.
#ifndef KAMINO_NODE_STORAGE_STORAGE_COPY_H_
#define KAMINO_NODE_STORAGE_STORAGE_COPY_H_

#include <functional>
#include <memory>

#include "node/storage/storage.h"
#include "replica/state_copy.h"
#include "replica/state_transfer.h"

namespace kamino::head {

class StorageCopy final : public replica::StateCopy {
 public:
  // `settle` flushes what a head has stored and not flushed. `storage` must
  // outlive this.
  StorageCopy(Storage* storage, std::function<void()> settle);

  void BeginSending() override;
  void PrepareCut() override;
  size_t BytesLeft() const override;
  bool NextChunk(kamino::internal::v1::StateChunk* chunk) override;
  void EndSending() override;
  void BeginReceiving() override;
  absl::Status Take(const kamino::internal::v1::StateChunk& chunk) override;
  absl::Status FinishReceiving(uint64_t sequence) override;

 private:
  Storage* const storage_;
  const std::function<void()> settle_;
  const size_t begin_;  // of the objects; what lies before is each node's own
  std::unique_ptr<replica::StateSender> sender_;
};

}  // namespace kamino::head

#endif  // KAMINO_NODE_STORAGE_STORAGE_COPY_H_
