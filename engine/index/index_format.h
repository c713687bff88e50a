// Layout of the index's pages and records; docs/formats/index.md explains it.
// Numbers here are on media: never change them without a new kPageMagic.
#ifndef KAMINO_ENGINE_INDEX_INDEX_FORMAT_H_
#define KAMINO_ENGINE_INDEX_INDEX_FORMAT_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace kamino::engine::index_format {

// With the heap's block header a page takes 4 KiB.
inline constexpr uint32_t kPageBytes = 4096 - 16;
using PageBytes = std::array<std::byte, kPageBytes>;
inline constexpr uint16_t kPageMagic = 0x4254;  // "TB"

enum class PageKind : uint8_t { kLeaf = 1, kInner = 2 };

// `count` slots follow in key order; keys lie from `keys_begin` to the page's
// end, in any order, with holes of `garbage` bytes in total.
struct PageHeader {
  uint16_t magic;
  uint8_t kind;  // PageKind
  uint8_t unused0;
  uint16_t count;
  uint16_t keys_begin;  // offset in the page; as are all offsets here
  uint16_t garbage;
  uint16_t shared;  // length of the prefix that all its keys share
  uint32_t unused1;
  // Leaf: largest version of a Delete in its key range.
  uint64_t erase_version;
};

// Leaf: a key and its record. Inner: a child and the lower bound of its keys,
// empty for the first child (`shared` does not include it).
struct Slot {
  // The key's first 4 bytes after the shared ones, big-endian, padded with 0.
  uint32_t prefix;
  uint16_t key_offset;
  uint16_t key_length;
  uint64_t object;
};

// `length` bytes of value follow; the object may have room for more.
struct RecordHeader {
  uint64_t version;
  uint32_t length;
  uint32_t unused;
};

static_assert(sizeof(PageHeader) == 24);
static_assert(offsetof(PageHeader, erase_version) == 16);
static_assert(sizeof(Slot) == 16);
static_assert(sizeof(RecordHeader) == 16);

}  // namespace kamino::engine::index_format

#endif  // KAMINO_ENGINE_INDEX_INDEX_FORMAT_H_
