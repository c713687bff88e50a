#include "bench/engine/micro.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/kamino/checksum.h"
#include "engine/pmem/file_region.h"
#include "engine/pmem/stream_copy.h"

namespace kamino::bench {
namespace {

using engine::FileRegion;
using engine::kNullObject;
using engine::ObjectId;
using engine::Transaction;
using engine::TransactionalStore;

constexpr std::array<uint32_t, 4> kSizes = {64, 256, 1024, 4096};
constexpr uint32_t kPatchBytes = 16;
constexpr uint64_t kHotObjects = 10'000;
constexpr uint64_t kBurst = 8;  // transactions
// Objects made by one transaction of the load.
constexpr uint64_t kLoadBatch = 16;
// The array of ids that alloc-link-free works on: its objects' places.
constexpr uint64_t kLinks = 4096;
constexpr uint32_t kLinkedBytes = 1024;
constexpr uint32_t kLinksPerPage = 512;

// Between the floor's objects, where the stores have headers; and the records
// of its log, which stays in the cache as theirs do.
constexpr uint64_t kFloorGap = 64;
constexpr uint64_t kFloorLines = 4096;

enum What {
  kOverwriteBytes,
  kOverwritePointer,
  kPatchWithBytes,
  kPatchPointer,
  kAllocLinkFree,
  kEmpty,
  kAbort,
};

enum How { kHot, kLarge, kOneObject, kBursts };

uint64_t LargeObjects(Scale scale, uint32_t size) {
  switch (scale) {
    case Scale::kFull:
      return std::max<uint64_t>((uint64_t{128} << 20) / (size + 256), 40'000);
    case Scale::kQuick:
      return std::max<uint64_t>((uint64_t{32} << 20) / (size + 256), 20'000);
    case Scale::kCount:
      return kHotObjects;
  }
  return 0;
}

// Objects of one size; the hot ones are the first.
struct Objects {
  uint32_t size = 0;
  std::vector<ObjectId> ids;
};

absl::Status Store(Transaction& transaction, ObjectId id, uint32_t length,
                   const std::byte* bytes, bool pointer) {
  if (!pointer) return transaction.Overwrite(id, 0, {bytes, length});
  ASSIGN_OR_RETURN(const auto place, transaction.Write(id, 0, length));
  std::memcpy(place, bytes, length);
  return absl::OkStatus();
}

// Pages of ids that live in the store, so that linking is a write to it.
struct Links {
  std::vector<ObjectId> pages;
  std::vector<ObjectId> objects;  // what the pages hold
};

// The links that one thread changes. Threads have places of their own, as they
// have in a program that knows what it does.
struct LinkShare {
  Links* links = nullptr;
  uint64_t first = 0;
  uint64_t count = 0;
};

LinkShare ShareOf(Links* links, const Cell& cell, int thread) {
  const uint64_t count = kLinks / cell.threads;
  return {links, count * thread, count};
}

// Draws objects, or places of links: the same for each store.
class Picker {
 public:
  Picker(const Cell& cell, uint64_t seed)
      : how_(static_cast<How>(cell.how)), random_(seed) {}

  // One of `count`.
  uint64_t Next(uint64_t count) {
    switch (how_) {
      case kHot:
        at_ = random_.Below(std::min(kHotObjects, count));
        break;
      case kLarge:
        at_ = random_.Below(count);
        break;
      case kOneObject:
        at_ = 0;
        break;
      case kBursts:
        if (drawn_ % kBurst == 0) at_ = random_.Below(kHotObjects);
        break;
    }
    ++drawn_;
    return at_;
  }
  // How many were drawn.
  uint64_t drawn() const { return drawn_; }
  Random& random() { return random_; }

 private:
  const How how_;
  Random random_;
  uint64_t at_ = 0;
  uint64_t drawn_ = 0;
};

class MicroWorker final : public Worker {
 public:
  MicroWorker(TransactionalStore* store, const Objects* objects,
              const LinkShare& share, const Cell& cell, uint64_t seed)
      : store_(*store),
        objects_(objects),
        share_(share),
        what_(static_cast<What>(cell.what)),
        picker_(cell, seed) {
    for (std::byte& byte : content_) byte = std::byte(picker_.random().Next());
  }

  int Draw() override {
    at_ =
        picker_.Next(objects_ == nullptr ? kHotObjects : objects_->ids.size());
    if (what_ == kAllocLinkFree) {
      at_ = share_.first + picker_.random().Below(share_.count);
    }
    // No two transactions write the same bytes.
    const uint64_t drawn = picker_.drawn();
    std::memcpy(content_.data(), &drawn, sizeof(drawn));
    return 0;
  }

  absl::Status Run() override {
    switch (what_) {
      case kEmpty:
        return store_.Begin(kLockWait)->Commit();
      case kAbort:
        return RunAbort();
      case kAllocLinkFree:
        return RunAllocLinkFree();
      default:
        return RunStore();
    }
  }

 private:
  absl::Status RunStore() {
    const ObjectId id = objects_->ids[at_];
    const bool pointer = what_ == kOverwritePointer || what_ == kPatchPointer;
    if (what_ == kOverwriteBytes || what_ == kOverwritePointer) {
      const uint32_t size = objects_->size;
      return Transact(store_, &retries_, [&](Transaction& transaction) {
        return Store(transaction, id, size, content_.data(), pointer);
      });
    }
    return Transact(store_, &retries_, [&](Transaction& transaction) {
      return Patch(transaction, id, pointer);
    });
  }

  absl::Status Patch(Transaction& transaction, ObjectId id, bool pointer) {
    const uint32_t places = objects_->size / kPatchBytes;
    const uint32_t offset =
        static_cast<uint32_t>(picker_.drawn() * 37 % places) * kPatchBytes;
    if (!pointer) {
      return transaction.Overwrite(id, offset, {content_.data(), kPatchBytes});
    }
    ASSIGN_OR_RETURN(const auto place,
                     transaction.Write(id, offset, kPatchBytes));
    std::memcpy(place, content_.data(), kPatchBytes);
    return absl::OkStatus();
  }

  absl::Status RunAbort() {
    for (uint64_t attempt = 1;; ++attempt) {
      const auto transaction = store_.Begin(kLockWait);
      absl::Status stored = Store(*transaction, objects_->ids[at_],
                                  objects_->size, content_.data(), false);
      absl::Status undone = transaction->Abort();
      if (!undone.ok() || stored.ok()) return undone;
      if (!WorthRetrying(stored, attempt)) return stored;
      ++retries_;
    }
  }

  absl::Status RunAllocLinkFree() {
    const ObjectId page = share_.links->pages[at_ / kLinksPerPage];
    const uint32_t offset =
        static_cast<uint32_t>(at_ % kLinksPerPage * sizeof(ObjectId));
    ObjectId made = kNullObject;
    absl::Status done =
        Transact(store_, &retries_, [&](Transaction& transaction) {
          ASSIGN_OR_RETURN(const auto id, transaction.Alloc(kLinkedBytes));
          made = id;
          RETURN_IF_ERROR(Store(transaction, made, kLinkedBytes,
                                content_.data(), /*pointer=*/false));
          ASSIGN_OR_RETURN(const auto place,
                           transaction.Write(page, offset, sizeof(made)));
          std::memcpy(place, &made, sizeof(made));
          return transaction.Free(share_.links->objects[at_]);
        });
    if (done.ok()) share_.links->objects[at_] = made;
    return done;
  }

  TransactionalStore& store_;
  const Objects* const objects_;
  const LinkShare share_;
  const What what_;
  Picker picker_;
  uint64_t at_ = 0;
  alignas(64) std::array<std::byte, 4096> content_;
};

class MicroDataset final : public Dataset {
 public:
  MicroDataset(TransactionalStore* store, Scale scale)
      : store_(store), scale_(scale) {}

  absl::Status Load() override {
    for (size_t i = 0; i < kSizes.size(); ++i) {
      sets_[i].size = kSizes[i];
      RETURN_IF_ERROR(MakeObjects(kSizes[i], LargeObjects(scale_, kSizes[i]),
                                  &sets_[i].ids));
      // In the order of allocation, popular objects would be neighbours.
      Random random(kSizes[i]);
      for (size_t k = sets_[i].ids.size(); k > 1; --k) {
        std::swap(sets_[i].ids[k - 1], sets_[i].ids[random.Below(k)]);
      }
    }
    absl::Status made = MakeObjects(kLinksPerPage * sizeof(ObjectId),
                                    kLinks / kLinksPerPage, &links_.pages);
    if (made.ok()) made = MakeObjects(kLinkedBytes, kLinks, &links_.objects);
    if (!made.ok()) return made;
    return LinkAll();
  }

  std::unique_ptr<Worker> MakeWorker(const Cell& cell, int thread,
                                     uint64_t seed) override {
    const auto set = std::find_if(
        sets_.begin(), sets_.end(),
        [&cell](const Objects& set) { return set.size == cell.value_size; });
    return absl::make_unique<MicroWorker>(
        store_, set == sets_.end() ? nullptr : &*set,
        ShareOf(&links_, cell, thread), cell, seed);
  }

 private:
  absl::Status MakeObjects(uint32_t size, uint64_t count,
                           std::vector<ObjectId>* ids) {
    uint64_t retries = 0;
    while (ids->size() < count) {
      const size_t before = ids->size();
      absl::Status made =
          Transact(*store_, &retries, [&](Transaction& transaction) {
            ids->resize(before);
            for (uint64_t i = 0; i < kLoadBatch && ids->size() < count; ++i) {
              ASSIGN_OR_RETURN(const auto id, transaction.Alloc(size));
              ids->push_back(id);
            }
            return absl::OkStatus();
          });
      if (!made.ok()) return made;
    }
    return absl::OkStatus();
  }

  absl::Status LinkAll() {
    uint64_t retries = 0;
    for (size_t i = 0; i < links_.pages.size(); ++i) {
      const absl::Span<const std::byte> bytes(
          reinterpret_cast<const std::byte*>(links_.objects.data() +
                                             i * kLinksPerPage),
          kLinksPerPage * sizeof(ObjectId));
      absl::Status linked =
          Transact(*store_, &retries, [&](Transaction& transaction) {
            return transaction.Overwrite(links_.pages[i], 0, bytes);
          });
      if (!linked.ok()) return linked;
    }
    return absl::OkStatus();
  }

  TransactionalStore* const store_;
  const Scale scale_;
  std::array<Objects, kSizes.size()> sets_;
  Links links_;
};

// --- The floor.

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
  Picker picker_;
  uint64_t at_ = 0;
  alignas(64) std::array<std::byte, 4096> content_;
};

class FloorDataset final : public Dataset {
 public:
  FloorDataset(FloorFiles files, Scale scale)
      : files_(std::move(files)), scale_(scale) {}

  absl::Status Load() override {
    uint64_t next = 0;
    for (size_t i = 0; i < kSizes.size(); ++i) {
      FloorObjects& set = sets_[i];
      set.size = kSizes[i];
      set.offsets.resize(LargeObjects(scale_, set.size));
      for (uint64_t& offset : set.offsets) {
        offset = next;
        next += set.size + kFloorGap;
      }
      // As MicroDataset's.
      Random random(set.size);
      for (size_t k = set.offsets.size(); k > 1; --k) {
        std::swap(set.offsets[k - 1], set.offsets[random.Below(k)]);
      }
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
  std::array<FloorObjects, kSizes.size()> sets_;
};

absl::StatusOr<std::unique_ptr<FileRegion>> FloorFile(const std::string& path,
                                                      uint64_t bytes) {
  ASSIGN_OR_RETURN(auto file,
                   FileRegion::Create(path, bytes, engine::PmemMode::kForce));
  file->Populate();
  return file;
}

class MicroSuite final : public Suite {
 public:
  explicit MicroSuite(Scale scale) : scale_(scale) {}

  std::string name() const override { return "micro"; }

  std::vector<Cell> Cells() const override {
    std::vector<Cell> cells;
    for (const auto& [set, how] : {std::pair{"hot", kHot}, {"large", kLarge}}) {
      for (uint32_t size : kSizes) {
        cells.push_back(
            {"overwrite-bytes", set, 1, size, kOverwriteBytes, how});
        cells.push_back(
            {"overwrite-pointer", set, 1, size, kOverwritePointer, how});
      }
      cells.push_back({"patch16-bytes", set, 1, 4096, kPatchWithBytes, how});
      cells.push_back({"patch16-pointer", set, 1, 4096, kPatchPointer, how});
    }
    cells.push_back(
        {"alloc-link-free", "uniform", 1, kLinkedBytes, kAllocLinkFree, kHot});
    cells.push_back({"empty", "none", 1, 0, kEmpty, kOneObject});
    cells.push_back({"abort", "hot", 1, 1024, kAbort, kHot, true});
    for (uint32_t size : {64u, 1024u}) {
      cells.push_back({"overwrite-bytes", "same-object", 1, size,
                       kOverwriteBytes, kOneObject});
      cells.push_back({"overwrite-pointer", "same-object", 1, size,
                       kOverwritePointer, kOneObject});
    }
    cells.push_back(
        {"overwrite-bytes", "bursts-of-8", 1, 1024, kOverwriteBytes, kBursts});
    for (const auto& [name, how] : {std::pair{"hot", kHot},
                                    {"bursts-of-8", kBursts},
                                    {"same-object", kOneObject}}) {
      cells.push_back({"overwrite-bytes", name, 2, 1024, kOverwriteBytes, how});
    }
    return cells;
  }

  uint64_t Bytes() const override {
    uint64_t bytes = uint64_t{16} << 20;
    for (uint32_t size : kSizes) {
      bytes += LargeObjects(scale_, size) * (size + 128);
    }
    return bytes * 5 / 4;
  }

  std::unique_ptr<Dataset> MakeDataset(
      TransactionalStore* store) const override {
    return absl::make_unique<MicroDataset>(store, scale_);
  }

  bool HasFloor(const Cell& cell) const override {
    return cell.threads == 1 &&
           (cell.what == kOverwriteBytes || cell.what == kOverwritePointer);
  }

  absl::StatusOr<std::unique_ptr<Dataset>> MakeFloor(
      const std::string& path) const override {
    uint64_t bytes = 0;
    for (uint32_t size : kSizes) {
      bytes += LargeObjects(scale_, size) * (size + kFloorGap);
    }
    FloorFiles files;
    ASSIGN_OR_RETURN(files.heap, FloorFile(path, bytes));
    ASSIGN_OR_RETURN(files.copy, FloorFile(absl::StrCat(path, ".copy"), bytes));
    ASSIGN_OR_RETURN(files.log, FloorFile(absl::StrCat(path, ".log"),
                                          kFloorLines * kFloorGap));
    auto floor = absl::make_unique<FloorDataset>(std::move(files), scale_);
    RETURN_IF_ERROR(floor->Load());
    return std::unique_ptr<Dataset>(std::move(floor));
  }

 private:
  const Scale scale_;
};

}  // namespace

std::unique_ptr<Suite> MakeMicroSuite(Scale scale) {
  return absl::make_unique<MicroSuite>(scale);
}

}  // namespace kamino::bench
