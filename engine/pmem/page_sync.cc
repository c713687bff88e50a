#include "engine/pmem/page_sync.h"

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "engine/pmem/medium_wait.h"

namespace kamino::engine {
namespace {

std::atomic<uint64_t> ended_syncs{0};
std::atomic<int64_t> sync_nanos{0};

}  // namespace

PageSync::Totals PageSync::OfProcess() {
  return {ended_syncs.load(), absl::Nanoseconds(sync_nanos.load())};
}

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
  const MediumWait waits;
  // Also if nothing is left to sync: another thread's sync, which covers the
  // ranges that this thread has noted, may be under way.
  absl::MutexLock syncing(&syncing_);
  const std::byte* place = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    place = std::exchange(lowest_, nullptr);
    unsynced_ = 0;
    if (place != nullptr) ++syncs_;
  }
  if (place == nullptr) return;
  const absl::Time began = MonotonicNow();
  sync_file_(place);
  sync_nanos.fetch_add(absl::ToInt64Nanoseconds(MonotonicNow() - began));
  ended_syncs.fetch_add(1);
}

uint64_t PageSync::syncs() const {
  absl::MutexLock lock(&mutex_);
  return syncs_;
}

}  // namespace kamino::engine
