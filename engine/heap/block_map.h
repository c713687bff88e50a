// The starts of a heap's allocated blocks, as a bit for each unit: so 64 of
// them, one word, for each page of 4 KiB. A block's bit is that of the unit of
// its header.
//
// Used to make one heap equal to another page by page. Nodes of a chain cut
// free space into blocks differently, so pages of two nodes together need not
// tile; and bytes within an object can look like a header.
#ifndef KAMINO_ENGINE_HEAP_BLOCK_MAP_H_
#define KAMINO_ENGINE_HEAP_BLOCK_MAP_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "engine/heap/heap_format.h"
#include "engine/transaction.h"

namespace kamino::engine {

inline constexpr size_t kBlockMapPageBytes = 64 * heap_format::kUnitBytes;

// The map of a whole region. Not thread-safe.
class BlockMap {
 public:
  explicit BlockMap(size_t region_bytes)
      : words_((region_bytes + kBlockMapPageBytes - 1) / kBlockMapPageBytes) {}

  size_t pages() const { return words_.size(); }
  uint64_t word(size_t page) const { return words_[page]; }
  void set_word(size_t page, uint64_t word) { words_[page] = word; }

  // The unit of an object's header.
  static size_t UnitOf(ObjectId id) {
    return (id - sizeof(heap_format::BlockHeader)) / heap_format::kUnitBytes;
  }
  static ObjectId IdOf(size_t unit) {
    return (unit + 1) * heap_format::kUnitBytes;
  }

  bool Has(ObjectId id) const {
    return words_[UnitOf(id) / 64] >> UnitOf(id) % 64 & 1;
  }
  void Set(ObjectId id, bool allocated) {
    const uint64_t bit = uint64_t{1} << UnitOf(id) % 64;
    uint64_t& word = words_[UnitOf(id) / 64];
    word = allocated ? word | bit : word & ~bit;
  }

 private:
  std::vector<uint64_t> words_;
};

// Blocks that became allocated or free since its creation, and their current
// state. It takes 16 bytes for each page with such a block; other pages cost
// only address space. Not thread-safe.
class BlockChanges {
 public:
  struct Page {
    uint64_t touched = 0;
    uint64_t allocated = 0;  // of the changed blocks
  };

  explicit BlockChanges(size_t region_bytes)
      : pages_(static_cast<Page*>(std::calloc(
            region_bytes / kBlockMapPageBytes + 1, sizeof(Page)))) {}

  void Note(ObjectId id, bool allocated) {
    const size_t unit = BlockMap::UnitOf(id);
    const uint64_t bit = uint64_t{1} << unit % 64;
    Page& page = pages_[unit / 64];
    page.touched |= bit;
    page.allocated = allocated ? page.allocated | bit : page.allocated & ~bit;
  }

  const Page& page(size_t number) const { return pages_[number]; }

 private:
  struct Free {
    void operator()(Page* pages) const { std::free(pages); }
  };
  // Zeros that take no memory until they are written.
  const std::unique_ptr<Page[], Free> pages_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_HEAP_BLOCK_MAP_H_
