// A mapped range of persistent memory, and the only way to make stores to it
// durable. A file on fsdax, devdax or tmpfs stands behind it in production, the
// crash simulator in tests.
//
// Invariants:
//   1. A store is durable once it was flushed and a Drain by the same thread
//      followed. Before that it may reach the medium or not, and words of
//      8 bytes, aligned, reach it independently of each other.
//   2. An aligned store of 8 bytes does not tear.
#ifndef KAMINO_ENGINE_PMEM_REGION_H_
#define KAMINO_ENGINE_PMEM_REGION_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace kamino::engine {

// Thread-safe, as far as callers do not store to the same bytes.
class Region {
 public:
  // Much is stored and flushed in pieces of this size.
  static constexpr size_t kPieceBytes = 1u << 20;

  virtual ~Region() = default;

  // Aligned to 4,096 at least.
  virtual std::byte* base() const = 0;
  virtual size_t size() const = 0;  // bytes

  // Starts writing the cache lines of [data, data + length) back.
  virtual void Flush(const void* data, size_t length) = 0;

  // Waits until everything this thread has flushed is durable.
  virtual void Drain() = 0;

  // Whether Drain makes durable what this thread has flushed in every region
  // that says so, not in this one only.
  virtual bool DrainsAll() const { return false; }

  // Whether Drain writes pages to a disk, which may take milliseconds.
  virtual bool SyncsPages() const { return false; }

  // memcpy into the region and Flush; `source` may lie anywhere and must not
  // overlap. May store aligned words of 8 bytes whole that are covered in part:
  // nobody else may store to them at the same time.
  virtual void CopyFlush(void* destination, const void* source,
                         size_t length) = 0;

  // Stores zeros and flushes them, piece by piece: where Drain syncs pages, no
  // sync has more to write than a few pieces.
  void ZeroFlush(void* data, size_t length) {
    auto* at = static_cast<std::byte*>(data);
    while (length > 0) {
      const size_t piece = std::min(length, kPieceBytes);
      std::memset(at, 0, piece);
      Flush(at, piece);
      at += piece;
      length -= piece;
    }
  }

  void Persist(const void* data, size_t length) {
    Flush(data, length);
    Drain();
  }
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_REGION_H_
