// A mapped range of persistent memory, and the only way to make stores to it
// durable. In production it is a file on fsdax, devdax or tmpfs, in tests the
// crash simulator.
//
// Invariants:
//   1. A store is durable once it was flushed and the same thread then called
//      Drain. Before that it may or may not reach the medium, and aligned words
//      of 8 bytes reach it independently of each other.
//   2. An aligned store of 8 bytes does not tear.
#ifndef KAMINO_ENGINE_PMEM_REGION_H_
#define KAMINO_ENGINE_PMEM_REGION_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace kamino::engine {

// How to make stores durable without a call of the region.
struct DirectStores {
  void (*copy)(void* destination, const void* source, size_t length);
  void (*flush)(const void* data, size_t length);
  void (*drain)();
};

// Thread-safe if callers do not store to the same bytes.
class Region {
 public:
  // Large ranges are stored and flushed in pieces of this size.
  static constexpr size_t kPieceBytes = 1u << 20;

  virtual ~Region() = default;

  // Aligned to 4,096 at least.
  virtual std::byte* base() const = 0;
  virtual size_t size() const = 0;  // bytes

  // Starts writing the cache lines of [data, data + length) back.
  virtual void Flush(const void* data, size_t length) = 0;

  // Waits until everything that this thread has flushed is durable.
  virtual void Drain() = 0;

  // Whether Drain covers this thread's flushes in every region that returns
  // true, not only in this one.
  virtual bool DrainsAll() const { return false; }

  // Functions that do the same as CopyFlush, Flush and Drain, for the region's
  // lifetime. Null: there are none, and the caller must call the region.
  virtual const DirectStores* direct() const { return nullptr; }

  // Whether Drain writes pages to a disk, which may take milliseconds.
  virtual bool SyncsPages() const { return false; }

  // memcpy into the region and Flush; `source` may lie anywhere and must not
  // overlap. May store partly covered aligned words of 8 bytes whole: no other
  // thread may store to them at the same time.
  virtual void CopyFlush(void* destination, const void* source,
                         size_t length) = 0;

  // Stores zeros and flushes them, piece by piece: if Drain syncs pages, no
  // sync writes more than a few pieces.
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
