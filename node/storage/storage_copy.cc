#include "node/storage/storage_copy.h"

#include <utility>

namespace kamino::head {
namespace {

// Free space of less is sent as whatever it holds.
constexpr size_t kUnusedBytes = 64u << 10;

}  // namespace

using kamino::internal::v1::StateChunk;

StorageCopy::StorageCopy(Storage* storage, std::function<void()> settle)
    : storage_(storage),
      settle_(std::move(settle)),
      begin_(storage->heap()->objects_begin()) {}

void StorageCopy::BeginSending() {
  sender_ = std::make_unique<replica::StateSender>(
      storage_->heap_region(), begin_,
      storage_->heap()->UnusedRanges(kUnusedBytes));
}

void StorageCopy::PrepareCut() { settle_(); }

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
