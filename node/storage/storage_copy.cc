#include "node/storage/storage_copy.h"

#include <utility>

#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::node {
namespace {

// Free space of less is sent as whatever it holds.
constexpr size_t kUnusedBytes = 64u << 10;

static_assert(replica::snapshot_format::kMaxPieceBytes <=
              replica::StateCopy::kMaxChunkBytes);

}  // namespace

StorageCopy::StorageCopy(Storage* storage, std::function<void()> settle,
                         std::function<void()> voided)
    : storage_(storage),
      settle_(std::move(settle)),
      voided_(std::move(voided)),
      scope_{.chain_id = storage->options().chain_id,
             .begin = storage->heap()->objects_begin()} {}

void StorageCopy::BeginSending(uint64_t sequence) {
  writer_.reset();  // it lets go of what the next one takes hold of
  writer_.emplace(storage_->heap_region(), scope_, sequence,
                  storage_->heap()->UnusedRanges(kUnusedBytes));
}

size_t StorageCopy::NextChunk(std::string* chunk) {
  replica::StringSink sink(chunk);
  return *writer_->WriteRecord(&sink);  // a string takes all
}

void StorageCopy::FinishSending(uint64_t sequence, std::string* chunk) {
  CHECK_EQ(writer_->BytesLeft(), 0u);  // the chunk would have no bound
  replica::StringSink sink(chunk);
  CHECK(writer_->Finish(sequence, &sink).ok());  // a string takes all
}

void StorageCopy::BeginReceiving() {
  voided_();
  storage_->BeginReceiving();
  reader_.emplace(storage_->heap_region(), scope_);
}

absl::StatusOr<replica::StateCopy::Taken> StorageCopy::Take(
    absl::string_view chunk) {
  const uint64_t before = reader_->bytes_stored();
  RETURN_IF_ERROR(reader_->Append(chunk));
  return Taken{reader_->bytes_stored() - before, reader_->end()};
}

absl::Status StorageCopy::FinishReceiving(uint64_t sequence) {
  reader_.reset();
  return storage_->FinishReceiving(sequence);
}

}  // namespace kamino::node
