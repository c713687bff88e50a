#include "transport/tcp/send_queue.h"

#include <sys/uio.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"

namespace kamino::transport {
namespace {

// Memory is freed by the chunk as bytes leave, so that for a slow receiver a
// large message takes only the memory of its unsent part.
constexpr size_t kChunkBytes = size_t{64} << 10;
constexpr size_t kChunksPerWrite = 64;
// Bounds how long one link holds the thread and its own lock.
constexpr int kWritesPerFlush = 8;

}  // namespace

absl::Status SendQueue::Write(ByteSink* sink, const Pieces& pieces) {
  size_t sent = 0;
  if (bytes_ == 0) {
    iovec vector[std::tuple_size<Pieces>::value];
    size_t count = 0;
    for (const absl::Span<const std::byte>& piece : pieces) {
      if (piece.empty()) continue;
      vector[count++] = {const_cast<std::byte*>(piece.data()), piece.size()};
    }
    ASSIGN_OR_RETURN(size_t taken, sink->Write(vector, count));
    sent = taken;
  }
  for (const absl::Span<const std::byte>& piece : pieces) {
    const size_t skip = std::min(sent, piece.size());
    sent -= skip;
    Append(piece.subspan(skip));
  }
  return absl::OkStatus();
}

void SendQueue::Append(absl::Span<const std::byte> piece) {
  bytes_ += piece.size();
  while (!piece.empty()) {
    if (chunks_.empty() || chunks_.back().size() == kChunkBytes) {
      chunks_.push_back(std::exchange(spare_, std::string()));
      chunks_.back().reserve(kChunkBytes);
    }
    const size_t count =
        std::min(piece.size(), kChunkBytes - chunks_.back().size());
    chunks_.back().append(reinterpret_cast<const char*>(piece.data()), count);
    piece.remove_prefix(count);
  }
}

absl::StatusOr<bool> SendQueue::Flush(ByteSink* sink) {
  for (int i = 0; i < kWritesPerFlush; ++i) {
    if (bytes_ == 0) return true;
    iovec vector[kChunksPerWrite];
    const size_t count = std::min(chunks_.size(), kChunksPerWrite);
    for (size_t j = 0; j < count; ++j) {
      const size_t skip = j == 0 ? taken_ : 0;
      vector[j] = {chunks_[j].data() + skip, chunks_[j].size() - skip};
    }
    ASSIGN_OR_RETURN(size_t taken, sink->Write(vector, count));
    if (taken == 0) return true;
    Pop(taken);
  }
  return false;
}

void SendQueue::Pop(size_t count) {
  bytes_ -= count;
  taken_ += count;
  while (!chunks_.empty() && taken_ >= chunks_.front().size()) {
    taken_ -= chunks_.front().size();
    spare_ = std::move(chunks_.front());
    spare_.clear();
    chunks_.pop_front();
  }
}

void SendQueue::Clear() {
  chunks_.clear();
  spare_ = std::string();
  taken_ = 0;
  bytes_ = 0;
}

}  // namespace kamino::transport
