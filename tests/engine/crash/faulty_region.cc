#include "tests/engine/crash/faulty_region.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "engine/heap/heap_format.h"
#include "tests/faults/fault.h"

namespace kamino::engine::crash {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kPage = 4096;
constexpr size_t kNoPage = SIZE_MAX;

class FaultyRegion final : public Region {
 public:
  FaultyRegion(absl::string_view name, absl::string_view fault, Region* memory)
      : name_(name), fault_(fault), memory_(memory) {}

  std::byte* base() const override { return memory_->base(); }
  size_t size() const override { return memory_->size(); }

  void Flush(const void* data, size_t length) override {
    if (!faults::FaultPlanted(name_)) {
      memory_->Flush(data, length);
      return;
    }
    const size_t begin = static_cast<const std::byte*>(data) - base();
    const size_t in_line = begin % kLine;
    if (fault_ == "region-no-flush") return;
    if (fault_ == "region-small-flush-lost" && length <= 16) return;
    if (fault_ == "region-large-flush-lost" && length > 16) return;
    if (fault_ == "region-log-not-flushed" && InLog(begin)) return;
    if (fault_ == "region-one-flush-in-five-lost" && ++flushes_ % 5 == 0) {
      return;
    }
    if (fault_ == "region-drain-forgets-a-page") {
      const size_t page = begin / kPage;
      if (first_page_ == kNoPage) first_page_ = page;
      if (page == first_page_ && drains_ % 3 == 0) return;
    }
    // As if the first line began at the range's begin.
    if (fault_ == "region-flush-misses-last-line") {
      const size_t lines = (length + kLine - 1) / kLine;
      length = std::min(length, lines * kLine - in_line);
    }
    if (fault_ == "region-flush-misses-first-line" && in_line > 0 &&
        length > kLine - in_line) {
      data = static_cast<const std::byte*>(data) + (kLine - in_line);
      length -= kLine - in_line;
    }
    if (fault_ == "region-flush-follows-drain") {
      late_.push_back({data, length});
      return;
    }
    memory_->Flush(data, length);
  }

  void Drain() override {
    const bool planted = faults::FaultPlanted(name_);
    if (planted && fault_ == "region-no-drain") return;
    if (planted && fault_ == "region-drain-forgets-a-page") {
      ++drains_;
      first_page_ = kNoPage;
    }
    if (planted && fault_ == "region-every-other-drain-lost" &&
        ++drains_ % 2 == 0) {
      return;
    }
    memory_->Drain();
    for (const auto& [data, length] : std::exchange(late_, {})) {
      memory_->Flush(data, length);
    }
  }

  void CopyFlush(void* destination, const void* source,
                 size_t length) override {
    const bool planted = faults::FaultPlanted(name_);
    const bool first = planted && fault_ == "region-copy-flushes-first";
    if (first) Flush(destination, length);
    std::memcpy(destination, source, length);
    if (first || (planted && fault_ == "region-copy-not-flushed")) return;
    Flush(destination, length);
  }

 private:
  bool InLog(size_t offset) const {
    const auto* superblock =
        reinterpret_cast<const heap_format::Superblock*>(base());
    return offset >= superblock->log_offset &&
           offset < superblock->objects_offset;
  }

  const std::string name_;   // as planted
  const std::string fault_;  // whichever the area
  Region* const memory_;
  uint64_t flushes_ = 0;
  uint64_t drains_ = 0;
  size_t first_page_ = kNoPage;  // that was flushed since the last drain
  std::vector<std::pair<const void*, size_t>> late_;
};

}  // namespace

std::unique_ptr<Region> MakeFaultyRegion(absl::string_view fault, size_t area,
                                         Region* memory) {
  // "backup:region-..." names the second area.
  constexpr absl::string_view kUndoCopy = "backup:";
  const absl::string_view name = fault;
  const bool undo_copy = fault.substr(0, kUndoCopy.size()) == kUndoCopy;
  if (undo_copy) fault.remove_prefix(kUndoCopy.size());
  if (fault.substr(0, 7) != "region-" || undo_copy != (area == 1))
    return nullptr;
  return absl::make_unique<FaultyRegion>(name, fault, memory);
}

}  // namespace kamino::engine::crash
