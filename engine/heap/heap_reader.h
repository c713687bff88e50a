// Reads a heap outside any transaction.
#ifndef KAMINO_ENGINE_HEAP_HEAP_READER_H_
#define KAMINO_ENGINE_HEAP_HEAP_READER_H_

#include "engine/heap/heap.h"
#include "engine/transaction.h"

namespace kamino::engine {

// Takes no locks: only for a thread that excludes running transactions, such as
// a node's core thread between operations. The bytes are stable until the next
// operation.
class HeapReader final : public Reader {
 public:
  explicit HeapReader(const Heap* heap) : heap_(heap) {}

  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override {
    return heap_->Payload(id);
  }
  void Prefetch(ObjectId id) const override { heap_->Prefetch(id, 0); }

 private:
  const Heap* const heap_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_HEAP_HEAP_READER_H_
