#include "head/storage_copy.h"

namespace kamino::head {

using kamino::internal::v1::StateChunk;

StorageCopy::StorageCopy(Storage* storage)
    : storage_(storage), begin_(storage->heap()->objects_begin()) {}

void StorageCopy::BeginSending() {
  sender_ =
      std::make_unique<replica::StateSender>(storage_->heap_region(), begin_);
}

size_t StorageCopy::BytesLeft() const { return sender_->BytesLeft(); }

bool StorageCopy::NextChunk(StateChunk* chunk) {
  return sender_->NextChunk(chunk);
}

void StorageCopy::EndSending() { sender_.reset(); }

void StorageCopy::BeginReceiving() { storage_->BeginReceiving(); }

absl::Status StorageCopy::Take(const StateChunk& chunk) {
  return replica::StoreChunk(chunk, storage_->heap_region(), begin_);
}

absl::Status StorageCopy::FinishReceiving(uint64_t sequence) {
  return storage_->FinishReceiving(sequence);
}

}  // namespace kamino::head
