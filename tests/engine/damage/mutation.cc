#include "tests/engine/damage/mutation.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "engine/heap/heap_format.h"

namespace kamino::engine::damage {
namespace {

using heap_format::BlockHeader;
using heap_format::BlockState;
using heap_format::kUnitBytes;
using heap_format::Superblock;

class Mutator {
 public:
  Mutator(uint64_t seed, Images* images) : random_(seed), images_(*images) {}

  std::string Run() {
    const int times = 1 + Random(3);
    for (int i = 0; i < times; ++i) {
      ChoosePlace();
      Change();
    }
    if (Random(4) > 0) RepairSuperblock();
    if (Random(40) == 0) Resize();
    return std::move(done_);
  }

 private:
  uint64_t Random(uint64_t bound) { return random_() % bound; }

  const Superblock& superblock() const {
    return *reinterpret_cast<const Superblock*>(images_[0].data());
  }
  // The superblock may be damaged already.
  size_t Within(uint64_t offset) const {
    return offset % images_[area_].size() / 8 * 8;
  }

  void ChoosePlace() {
    area_ = Random(3) == 0 ? Random(images_.size()) : 0;
    const size_t size = images_[area_].size();
    switch (area_ == 0 ? Random(5) : 5 + Random(2)) {
      case 0:
        at_ = Random(sizeof(Superblock) / 8) * 8;
        break;
      case 1:  // the log, its beginning mostly in use
        at_ = Within(superblock().log_offset + Random(1 << (6 + Random(11))));
        break;
      case 2:  // a block's header
        at_ = Block();
        break;
      case 3:  // the beginning of a payload: headers of pages and records
        at_ = Within(Block() + sizeof(BlockHeader) + Random(64));
        break;
      case 5:  // an undo copy's header, bitmap and blocks
        at_ = Within(Random(1 << (6 + Random(9))));
        break;
      default:
        at_ = Within(Random(size));
    }
  }

  // The header of any block, found by a walk.
  size_t Block() {
    const SimRegion::Image& heap = images_[0];
    uint64_t id = superblock().objects_offset;
    size_t chosen = Within(id - sizeof(BlockHeader));
    for (uint64_t seen = 1; id % kUnitBytes == 0 && id >= kUnitBytes; ++seen) {
      const size_t header = id - sizeof(BlockHeader);
      if (id >= heap.size()) break;
      if (Random(seen) == 0) chosen = header;
      uint64_t word;
      std::memcpy(&word, heap.data() + header, sizeof(word));
      if (!heap_format::IsBlock(word)) break;
      id += heap_format::UnitsOf(word) * kUnitBytes;
    }
    return chosen;
  }

  // Numbers that may pass a check.
  uint64_t Tempting() {
    const size_t heap = images_[0].size();
    switch (Random(8)) {
      case 0:
        return 0;
      case 1:
        return ~uint64_t{0} >> Random(64);
      case 2:
        return heap - Random(200);
      case 3:
        return Random(heap) / kUnitBytes * kUnitBytes;
      case 4:
        return Block() + sizeof(BlockHeader);  // an id
      case 5:
        return heap_format::MakeWord(
            Random(2) == 0 ? BlockState::kFree : BlockState::kAllocated,
            Random(3) == 0 ? random_() & heap_format::kUnitsMask
                           : Random(heap / kUnitBytes + 2));
      case 6:
        return uint64_t{1} << Random(64);
      default:
        return random_();
    }
  }

  void Change() {
    SimRegion::Image& image = images_[area_];
    const size_t room = image.size() - at_;
    const auto say = [this](absl::string_view what, size_t length) {
      absl::StrAppend(&done_, what, " at ", area_, ":", at_, " + ", length,
                      "; ");
    };
    switch (Random(6)) {
      case 0: {
        const size_t length = std::min<size_t>(room, 1 + Random(64));
        for (int i = 1 + Random(4); i > 0; --i) {
          image[at_ + Random(length)] ^= std::byte(1 << Random(8));
        }
        say("flipped", length);
        break;
      }
      case 1: {
        const size_t length =
            std::min<size_t>(room, 1 + Random(1 << (3 + Random(11))));
        const auto fill = Random(3) > 0 ? std::byte{0} : std::byte(Random(256));
        std::fill_n(image.begin() + at_, length, fill);
        say("filled", length);
        break;
      }
      case 2: {
        const size_t length = std::min<size_t>(room, 8u << Random(7));
        const size_t from = Random(image.size() - length + 1) / 8 * 8;
        std::memmove(image.data() + at_, image.data() + from, length);
        say(absl::StrCat("copied from ", from), length);
        break;
      }
      case 3: {
        const size_t length = std::min<size_t>(room, 2u << Random(2));
        const uint64_t value = Tempting();
        std::memcpy(image.data() + at_, &value, length);
        say(absl::StrCat("set to ", value), length);
        break;
      }
      default: {
        const uint64_t value = Tempting();
        std::memcpy(image.data() + at_, &value, sizeof(value));
        say(absl::StrCat("set to ", value), sizeof(value));
      }
    }
  }

  void RepairSuperblock() {
    auto* superblock = reinterpret_cast<Superblock*>(images_[0].data());
    superblock->checksum =
        XXH3_64bits(superblock, offsetof(Superblock, checksum));
  }

  void Resize() {
    SimRegion::Image& image = images_[Random(images_.size())];
    const size_t size = Random(2) == 0 ? image.size() + 64 * (1 + Random(100))
                                       : Random(image.size() / 64 + 1) * 64;
    absl::StrAppend(&done_, image.size(), " bytes cut or grown to ", size);
    image.resize(size);
  }

  std::mt19937_64 random_;
  Images& images_;
  size_t area_ = 0;
  size_t at_ = 0;
  std::string done_;
};

}  // namespace

std::string Mutate(uint64_t seed, Images* images) {
  return Mutator(seed, images).Run();
}

}  // namespace kamino::engine::damage
