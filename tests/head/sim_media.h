// A node's media in the crash simulator. The disk outlives the regions that are
// handed out: a crash makes new ones of what it left.
#ifndef KAMINO_TESTS_HEAD_SIM_MEDIA_H_
#define KAMINO_TESTS_HEAD_SIM_MEDIA_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "engine/pmem/sim_region.h"
#include "head/media.h"

namespace kamino::head {

// Not thread-safe.
class SimDisk {
 public:
  using Part = Media::Part;

  // The simulated region of a part that exists; null when there is none.
  engine::SimRegion* region(Part part) {
    auto found = parts_.find(part);
    return found == parts_.end() ? nullptr : found->second.get();
  }

  // The power goes: each line that is not durable survives or not, as `seed`
  // decides. Who uses the old regions goes on with memory that no one sees;
  // they live as long as the disk does.
  void Crash(uint64_t seed) {
    unfinished_.clear();
    for (auto& [part, region] : parts_) {
      auto after =
          std::make_unique<engine::SimRegion>(region->CrashImage(++seed));
      graveyard_.push_back(std::exchange(region, std::move(after)));
    }
  }
  // Gives back the memory of regions from before a crash; nobody uses them.
  void Bury() { graveyard_.clear(); }

 private:
  friend class SimMedia;
  std::map<Part, std::unique_ptr<engine::SimRegion>> parts_;
  std::map<Part, std::unique_ptr<engine::SimRegion>> unfinished_;
  std::vector<std::unique_ptr<engine::SimRegion>> graveyard_;
};

class SimMedia final : public Media {
 public:
  explicit SimMedia(SimDisk* disk) : disk_(disk) {}

  bool Exists(Part part) const override {
    return disk_->parts_.count(part) != 0;
  }

  absl::StatusOr<std::unique_ptr<engine::Region>> Create(
      Part part, size_t bytes) override {
    auto& region = disk_->unfinished_[part];
    region = std::make_unique<engine::SimRegion>((bytes + 63) / 64 * 64);
    return std::unique_ptr<engine::Region>(new Handle(region.get()));
  }

  absl::Status Publish(Part part) override {
    disk_->parts_[part] = std::move(disk_->unfinished_[part]);
    disk_->unfinished_.erase(part);
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<engine::Region>> Open(Part part) override {
    if (!Exists(part)) return absl::NotFoundError(Name(part));
    return std::unique_ptr<engine::Region>(
        new Handle(disk_->parts_[part].get()));
  }

  absl::Status Remove(Part part) override {
    if (auto found = disk_->parts_.extract(part)) {
      disk_->graveyard_.push_back(std::move(found.mapped()));
    }
    return absl::OkStatus();
  }

  std::string Name(Part part) const override {
    switch (part) {
      case Part::kHeap:
        return "heap";
      case Part::kRing:
        return "ring";
      case Part::kBackup:
        return "backup";
    }
    return "";
  }

 private:
  // What a node holds of a region of the disk's.
  class Handle final : public engine::Region {
   public:
    explicit Handle(engine::Region* region) : region_(region) {}
    std::byte* base() const override { return region_->base(); }
    size_t size() const override { return region_->size(); }
    void Flush(const void* data, size_t length) override {
      region_->Flush(data, length);
    }
    void Drain() override { region_->Drain(); }
    void CopyFlush(void* destination, const void* source,
                   size_t length) override {
      region_->CopyFlush(destination, source, length);
    }

   private:
    engine::Region* const region_;
  };

  SimDisk* const disk_;
};

}  // namespace kamino::head

#endif  // KAMINO_TESTS_HEAD_SIM_MEDIA_H_
