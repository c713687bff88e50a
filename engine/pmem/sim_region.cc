#include "engine/pmem/sim_region.h"

#include <cstdlib>
#include <cstring>
#include <random>

#include "glog/logging.h"

namespace kamino::engine {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kWord = 8;
constexpr size_t kAlignment = 4096;

std::byte* Allocate(size_t size) {
  CHECK_EQ(size % kLine, 0u);
  void* memory = nullptr;
  CHECK_EQ(posix_memalign(&memory, kAlignment, size), 0);
  return static_cast<std::byte*>(memory);
}

}  // namespace

SimRegion::SimRegion(size_t size)
    : size_(size), live_(Allocate(size)), durable_(size) {
  std::memset(live_, 0, size);
}

SimRegion::SimRegion(const Image& image)
    : size_(image.size()), live_(Allocate(image.size())), durable_(image) {
  std::memcpy(live_, image.data(), image.size());
}

SimRegion::~SimRegion() { std::free(live_); }

void SimRegion::Flush(const void* data, size_t length) {
  if (length == 0) return;
  const size_t begin = static_cast<const std::byte*>(data) - live_;
  CHECK(begin < size_ && length <= size_ - begin) << "flush outside the region";
  for (size_t line = begin / kLine * kLine; line < begin + length;
       line += kLine) {
    std::memcpy(flushed_[line].data(), live_ + line, kLine);
  }
}

void SimRegion::Drain() {
  ++drains_;
  if (hook_) hook_();
  for (const auto& [line, bytes] : flushed_) {
    std::memcpy(durable_.data() + line, bytes.data(), kLine);
  }
  flushed_.clear();
}

void SimRegion::CopyFlush(void* destination, const void* source,
                          size_t length) {
  std::memcpy(destination, source, length);
  Flush(destination, length);
}

SimRegion::Image SimRegion::CrashImage(uint64_t seed) const {
  Image image = durable_;
  std::mt19937_64 random(seed);
  // Some crashes lose nearly all of what is not durable, some nearly nothing.
  const uint64_t survive_percent = random() % 101;
  auto next = flushed_.begin();
  for (size_t line = 0; line < size_; line += kLine) {
    const std::byte* flushed = nullptr;
    if (next != flushed_.end() && next->first == line) {
      flushed = next->second.data();
      ++next;
    }
    const bool stored =
        std::memcmp(live_ + line, durable_.data() + line, kLine) != 0;
    if (!stored && flushed == nullptr) continue;
    if (random() % 100 >= survive_percent) continue;
    const bool as_flushed = flushed != nullptr && random() % 2 == 0;
    const std::byte* source = as_flushed ? flushed : live_ + line;
    const bool torn = random() % 4 == 0;
    for (size_t word = 0; word < kLine; word += kWord) {
      if (torn && random() % 2 == 0) continue;
      std::memcpy(image.data() + line + word, source + word, kWord);
    }
  }
  return image;
}

}  // namespace kamino::engine
