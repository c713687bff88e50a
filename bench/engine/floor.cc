#include "bench/engine/floor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/engine/micro_cells.h"
#include "engine/kamino/checksum.h"
#include "engine/pmem/file_region.h"
#include "engine/pmem/stream_copy.h"

namespace kamino::bench {
namespace {

using engine::FileRegion;

// Bytes between objects, where the stores have headers.
constexpr uint64_t kFloorGap = 64;
// Records of the log, which stays in the cache as the stores' logs do.
constexpr uint64_t kFloorLines = 4096;

// Objects of one size, and their copies, at the same places of two files.
struct FloorObjects {
  uint32_t size = 0;
  std::vector<uint64_t> offsets;
};

// The files of the floor. A record is a line of the ring in `log`.
struct FloorFiles {
  std::unique_ptr<FileRegion> heap;
  std::unique_ptr<FileRegion> copy;
  std::unique_ptr<FileRegion> log;
};

class FloorWorker final : public Worker {
 public:
  FloorWorker(FloorFiles* files, const FloorObjects* objects, const Cell& cell,
              uint64_t seed)
      : files_(*files),
        objects_(*objects),
        pointer_(cell.what == kOverwritePointer),
        picker_(cell, seed) {
    for (std::byte& byte : content_) byte = std::byte(picker_.random().Next());
  }

  int Draw() override {
    at_ = objects_.offsets[picker_.Next(objects_.offsets.size())];
    const uint64_t drawn = picker_.drawn();
    std::memcpy(content_.data(), &drawn, sizeof(drawn));
    return 0;
  }

  absl::Status Run() override {
    const size_t size = objects_.size;
    std::byte* const data = files_.heap->base() + at_;
    const std::byte* source = content_.data();
    if (pointer_) {
      std::memcpy(data, source, size);
      files_.heap->Flush(data, size);
      source = data;
    } else {
      engine::StreamCopy(data, source, size);
    }
    Record record = {
        picker_.drawn(), at_, size, engine::Checksum({source, size}), {}};
    std::byte* const line =
        files_.log->base() + picker_.drawn() % kFloorLines * sizeof(Record);
    engine::StreamCopy(line, &record, sizeof(record));
    engine::StreamCopy(files_.copy->base() + at_, source, size);
    files_.heap->Drain();
    return absl::OkStatus();
  }

 private:
  struct alignas(64) Record {
    uint64_t position;
    uint64_t object;
    uint64_t length;
    uint64_t hash;
    uint64_t unused[4];
  };

  FloorFiles& files_;
  const FloorObjects& objects_;
  const bool pointer_;
  MicroPicker picker_;
  uint64_t at_ = 0;
  alignas(64) std::array<std::byte, 4096> content_;
};

class FloorDataset final : public Dataset {
 public:
  FloorDataset(FloorFiles files, Scale scale)
      : files_(std::move(files)), scale_(scale) {}

  absl::Status Load() override {
    uint64_t next = 0;
    for (size_t i = 0; i < kMicroSizes.size(); ++i) {
      FloorObjects& set = sets_[i];
      set.size = kMicroSizes[i];
      set.offsets.resize(MicroObjects(scale_, set.size));
      for (uint64_t& offset : set.offsets) {
        offset = next;
        next += set.size + kFloorGap;
      }
      Shuffle(set.size, &set.offsets);
    }
    return absl::OkStatus();
  }

  std::unique_ptr<Worker> MakeWorker(const Cell& cell, int,
                                     uint64_t seed) override {
    const auto set = std::find_if(sets_.begin(), sets_.end(),
                                  [&cell](const FloorObjects& one) {
                                    return one.size == cell.value_size;
                                  });
    return absl::make_unique<FloorWorker>(&files_, &*set, cell, seed);
  }

 private:
  FloorFiles files_;
  const Scale scale_;
  std::array<FloorObjects, kMicroSizes.size()> sets_;
};

absl::StatusOr<std::unique_ptr<FileRegion>> FloorFile(const std::string& path,
                                                      uint64_t bytes) {
  ASSIGN_OR_RETURN(auto file,
                   FileRegion::Create(path, bytes, engine::PmemMode::kForce));
  file->Populate();
  return file;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> MakeMicroFloor(const std::string& path,
                                                        Scale scale) {
  uint64_t bytes = 0;
  for (uint32_t size : kMicroSizes) {
    bytes += MicroObjects(scale, size) * (size + kFloorGap);
  }
  FloorFiles files;
  ASSIGN_OR_RETURN(files.heap, FloorFile(path, bytes));
  ASSIGN_OR_RETURN(files.copy, FloorFile(absl::StrCat(path, ".copy"), bytes));
  ASSIGN_OR_RETURN(files.log, FloorFile(absl::StrCat(path, ".log"),
                                        kFloorLines * kFloorGap));
  auto floor = absl::make_unique<FloorDataset>(std::move(files), scale);
  RETURN_IF_ERROR(floor->Load());
  return std::unique_ptr<Dataset>(std::move(floor));
}

}  // namespace kamino::bench
