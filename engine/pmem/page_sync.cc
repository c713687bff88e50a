#include "engine/pmem/page_sync.h"

#include <cstdint>
#include <utility>

namespace kamino::engine {

void PageSync::Note(const void* data, size_t length) {
  if (length == 0) return;
  const auto* const begin = static_cast<const std::byte*>(data);
  const auto address = reinterpret_cast<uintptr_t>(data);
  const size_t pages =
      (address + length - 1) / kPageBytes - address / kPageBytes + 1;
  bool much = false;
  {
    absl::MutexLock lock(&mutex_);
    if (lowest_ == nullptr || begin < lowest_) lowest_ = begin;
    unsynced_ += pages * kPageBytes;
    much = unsynced_ >= kMostUnsynced;
  }
  if (much) Drain();
}

void PageSync::Drain() {
  // Also where nothing is left to sync: another thread's sync that covers what
  // this one has noted may be under way.
  absl::MutexLock syncing(&syncing_);
  const std::byte* place = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    place = std::exchange(lowest_, nullptr);
    unsynced_ = 0;
    if (place != nullptr) ++syncs_;
  }
  if (place != nullptr) sync_file_(place);
}

uint64_t PageSync::syncs() const {
  absl::MutexLock lock(&mutex_);
  return syncs_;
}

}  // namespace kamino::engine
