// Layout of a heap; docs/formats/heap.md explains it. Numbers here are on
// media: never change them without a new kHeapVersion.
#ifndef KAMINO_ENGINE_HEAP_HEAP_FORMAT_H_
#define KAMINO_ENGINE_HEAP_HEAP_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace kamino::engine::heap_format {

inline constexpr uint64_t kHeapMagic = 0x50414548696d614bull;  // "KamiHEAP"
inline constexpr uint32_t kHeapVersion = 3;
inline constexpr size_t kLabelBytes = 128;  // the terminating 0 included
inline constexpr size_t kSuperblockBytes = 4096;
inline constexpr size_t kMinLogBytes = 4u << 10;

// Payloads begin at multiples of this, and blocks' sizes count it.
inline constexpr size_t kUnitBytes = 64;

struct Superblock {
  uint64_t magic;
  uint32_t version;
  uint32_t unused;
  uint64_t size;  // of the region, in bytes
  uint8_t uuid[16];
  char label[kLabelBytes];
  uint64_t log_offset;      // bytes from the start of the region, as all here
  uint64_t log_bytes;       // the log's area
  uint64_t objects_offset;  // the first object's id
  uint64_t objects_bytes;   // of all blocks
  uint64_t root;            // id of the root object
  uint64_t checksum;        // XXH3 of the fields above
};

// The last bytes before a block's payload, free or allocated, so that payloads
// begin with a cache line. The word changes by one aligned store.
//   bits 63..48  kBlockMagic
//   bits 47..40  BlockState
//   bits 39..0   units of the block, this header included
struct BlockHeader {
  uint64_t word;
  // In a dynamic undo copy the object whose copy the block holds; else 0.
  uint64_t copy_of;
};

enum class BlockState : uint8_t { kFree = 1, kAllocated = 2 };

inline constexpr uint64_t kBlockMagic = 0x4b6f;  // "oK"
inline constexpr uint64_t kUnitsMask = (uint64_t{1} << 40) - 1;

constexpr uint64_t MakeWord(BlockState state, uint64_t units) {
  return kBlockMagic << 48 | static_cast<uint64_t>(state) << 40 | units;
}
constexpr bool IsBlock(uint64_t word) {
  const uint64_t state = word >> 40 & 0xff;
  return word >> 48 == kBlockMagic && (state == 1 || state == 2) &&
         (word & kUnitsMask) != 0;
}
constexpr BlockState StateOf(uint64_t word) {
  return static_cast<BlockState>(word >> 40 & 0xff);
}
constexpr uint64_t UnitsOf(uint64_t word) { return word & kUnitsMask; }

// Units of a block whose payload has at least `bytes` bytes.
constexpr uint64_t UnitsFor(uint64_t bytes) {
  return (bytes + sizeof(BlockHeader) + kUnitBytes - 1) / kUnitBytes;
}
constexpr uint64_t PayloadBytes(uint64_t units) {
  return units * kUnitBytes - sizeof(BlockHeader);
}

// `id` is the offset of the block's payload.
inline BlockHeader* HeaderOf(std::byte* base, uint64_t id) {
  return reinterpret_cast<BlockHeader*>(base + id) - 1;
}

static_assert(sizeof(BlockHeader) == 16);
static_assert(offsetof(Superblock, uuid) == 24);
static_assert(offsetof(Superblock, label) == 40);
static_assert(offsetof(Superblock, log_offset) == 168);
static_assert(offsetof(Superblock, checksum) == 208);
static_assert(sizeof(Superblock) == 216);

}  // namespace kamino::engine::heap_format

#endif  // KAMINO_ENGINE_HEAP_HEAP_FORMAT_H_
