// Layout of a device with a node's regions. docs/formats/device.md. These
// values are on media and never change.
#ifndef KAMINO_NODE_STORAGE_DEVICE_FORMAT_H_
#define KAMINO_NODE_STORAGE_DEVICE_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace kamino::node::device_format {

inline constexpr uint64_t kMagic = 0x43564544696d614bull;  // "KamiDEVC"
inline constexpr uint32_t kVersion = 1;
inline constexpr size_t kCopyBytes = 4096;  // from one copy to the other
inline constexpr size_t kCopies = 2;
inline constexpr size_t kSlots = 8;
inline constexpr size_t kNameBytes = 16;

struct Slot {
  char name[kNameBytes];  // ended by a zero byte; none: the slot is free
  uint64_t offset;        // a multiple of the directory's unit
  uint64_t length;        // bytes
};

struct Directory {
  uint64_t magic;
  uint32_t version;
  uint32_t unit;  // extents begin at multiples of it
  uint64_t size;  // of the device
  uint64_t sequence;
  Slot slots[kSlots];
  uint64_t checksum;  // XXH3-64 of all before
};

static_assert(sizeof(Slot) == 32);
static_assert(offsetof(Directory, slots) == 32);
static_assert(offsetof(Directory, checksum) == 288);
static_assert(sizeof(Directory) == 296);

}  // namespace kamino::node::device_format

#endif  // KAMINO_NODE_STORAGE_DEVICE_FORMAT_H_
