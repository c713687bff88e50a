#include "bench/engine/micro.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "base/status_macros.h"
#include "bench/engine/floor.h"
#include "bench/engine/micro_cells.h"

namespace kamino::bench {
namespace {

using engine::kNullObject;
using engine::ObjectId;
using engine::Transaction;
using engine::TransactionalStore;

constexpr uint32_t kPatchBytes = 16;
// Objects made by one transaction of the load.
constexpr uint64_t kLoadBatch = 16;
// The array of ids that alloc-link-free works on: its objects' places.
constexpr uint64_t kLinks = 4096;
constexpr uint32_t kLinkedBytes = 1024;
constexpr uint32_t kLinksPerPage = 512;

// Objects of one size.
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

class MicroWorker final : public Worker {
 public:
  MicroWorker(TransactionalStore* store, const Objects* objects,
              const LinkShare& share, const Cell& cell, uint64_t seed)
      : store_(*store),
        objects_(objects),
        share_(share),
        what_(static_cast<MicroWhat>(cell.what)),
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
  const MicroWhat what_;
  MicroPicker picker_;
  uint64_t at_ = 0;
  alignas(64) std::array<std::byte, 4096> content_;
};

class MicroDataset final : public Dataset {
 public:
  MicroDataset(TransactionalStore* store, Scale scale)
      : store_(store), scale_(scale) {}

  absl::Status Load() override {
    for (size_t i = 0; i < kMicroSizes.size(); ++i) {
      sets_[i].size = kMicroSizes[i];
      RETURN_IF_ERROR(MakeObjects(
          kMicroSizes[i], MicroObjects(scale_, kMicroSizes[i]), &sets_[i].ids));
      // In the order of allocation, popular objects would be neighbours.
      Shuffle(kMicroSizes[i], &sets_[i].ids);
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
  std::array<Objects, kMicroSizes.size()> sets_;
  Links links_;
};

class MicroSuite final : public Suite {
 public:
  explicit MicroSuite(Scale scale) : scale_(scale) {}

  std::string name() const override { return "micro"; }

  std::vector<Cell> Cells() const override {
    std::vector<Cell> cells;
    for (const auto& [set, how] : {std::pair{"hot", kHot}, {"large", kLarge}}) {
      for (uint32_t size : kMicroSizes) {
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
    // The threads wait for each other.
    for (uint32_t size : {64u, 4096u}) {
      for (int threads : {2, 4, 8}) {
        cells.push_back({"overwrite-bytes", "same-object", threads, size,
                         kOverwriteBytes, kOneObject});
      }
    }
    return cells;
  }

  uint64_t Bytes() const override {
    uint64_t bytes = uint64_t{16} << 20;
    for (uint32_t size : kMicroSizes) {
      bytes += MicroObjects(scale_, size) * (size + 128);
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
    return MakeMicroFloor(path, scale_);
  }

 private:
  const Scale scale_;
};

}  // namespace

std::unique_ptr<Suite> MakeMicroSuite(Scale scale) {
  return absl::make_unique<MicroSuite>(scale);
}

}  // namespace kamino::bench
