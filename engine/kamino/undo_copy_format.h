// Layouts of the undo copies; docs/formats/undo_copy.md explains them. Numbers
// here are on media: never change them without a new kUndoCopyVersion.
#ifndef KAMINO_ENGINE_KAMINO_UNDO_COPY_FORMAT_H_
#define KAMINO_ENGINE_KAMINO_UNDO_COPY_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace kamino::engine::undo_copy_format {

inline constexpr uint64_t kUndoCopyMagic = 0x4b43414269614bull;  // "KaiBACK"
inline constexpr uint32_t kUndoCopyVersion = 2;
inline constexpr size_t kHeaderBytes = 4096;

enum class Kind : uint32_t { kSimple = 1, kDynamic = 2, kLog = 3 };

struct UndoCopyHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t kind;          // Kind
  uint64_t size;          // of the region, in bytes
  uint64_t heap_bytes;    // of the heap's region
  uint8_t heap_uuid[16];  // the heap of these copies
  uint64_t checksum;      // XXH3 of the fields above
};

// kSimple: after the header a bitmap with a bit for each 64 bytes of the heap,
// set where an object with a copy starts; then the heap's mirror, at the same
// offsets. kDynamic: after the header blocks as in a heap's object area
// (heap_format::BlockHeader), whose `copy_of` is the object's id.
constexpr size_t BitmapBytes(size_t heap_bytes) {
  return (heap_bytes / 64 / 8 + 4095) / 4096 * 4096;
}

// kLog: at kUndoRoundOffset the number of logs made in the region, in 8 bytes;
// after the header records, each padded to kUndoAlignment: an UndoRecord, its
// UndoPieces, and the saved bytes of each, padded to 8 bytes.
inline constexpr size_t kUndoAlignment = 64;
inline constexpr size_t kUndoRoundOffset = 64;

struct UndoRecord {
  // XXH3 of the fields below, the pieces, and the saved bytes of each, seeded
  // with the checksum of the previous record, or for the first one with the
  // number of logs made here.
  uint64_t checksum;
  uint64_t number;  // the transaction is committed once this number is
  uint64_t bytes;   // of the whole record, with padding
  uint32_t pieces;
  uint32_t unused;  // 0
};

struct UndoPiece {
  uint64_t object;
  uint32_t offset;  // bytes into the payload
  uint32_t length;  // bytes
};

static_assert(sizeof(UndoRecord) == 32);
static_assert(offsetof(UndoRecord, number) == 8);
static_assert(sizeof(UndoPiece) == 16);
static_assert(sizeof(UndoCopyHeader) == 56);
static_assert(offsetof(UndoCopyHeader, checksum) == 48);

}  // namespace kamino::engine::undo_copy_format

#endif  // KAMINO_ENGINE_KAMINO_UNDO_COPY_FORMAT_H_
