// A set of pages of a region: one bit per page.
#ifndef KAMINO_ENGINE_PMEM_PAGE_SET_H_
#define KAMINO_ENGINE_PMEM_PAGE_SET_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kamino::engine {

// Not thread-safe.
class PageSet {
 public:
  static constexpr size_t kPageBytes = 4096;

  PageSet() = default;  // an empty region's
  explicit PageSet(size_t pages) : pages_(pages), bits_((pages + 63) / 64) {}

  // Pages of the region.
  size_t pages() const { return pages_; }
  // Pages in the set.
  size_t count() const { return count_; }

  void Add(size_t page) {
    const uint64_t bit = uint64_t{1} << page % 64;
    count_ += (bits_[page / 64] & bit) == 0;
    bits_[page / 64] |= bit;
  }

  // Adds the pages of bytes [begin, begin + length); `length` is not 0.
  void AddBytes(size_t begin, size_t length) {
    const size_t last = (begin + length - 1) / kPageBytes;
    for (size_t page = begin / kPageBytes; page <= last; ++page) Add(page);
  }

  // `other` has as many pages.
  void AddAll(const PageSet& other) {
    count_ = 0;
    for (size_t i = 0; i < bits_.size(); ++i) {
      bits_[i] |= other.bits_[i];
      count_ += static_cast<size_t>(__builtin_popcountll(bits_[i]));
    }
  }

  // The first page in the set at or after `page`; pages() if there is none.
  size_t Next(size_t page) const {
    for (size_t word = page / 64; word < bits_.size(); ++word) {
      uint64_t bits = bits_[word];
      if (word == page / 64) bits &= ~uint64_t{0} << page % 64;
      if (bits == 0) continue;
      return word * 64 + static_cast<size_t>(__builtin_ctzll(bits));
    }
    return pages_;
  }

  // The same, and removes it.
  size_t Take(size_t page) {
    const size_t found = Next(page);
    if (found == pages_) return found;
    bits_[found / 64] &= ~(uint64_t{1} << found % 64);
    --count_;
    return found;
  }

 private:
  size_t pages_ = 0;
  std::vector<uint64_t> bits_;
  size_t count_ = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_PAGE_SET_H_
