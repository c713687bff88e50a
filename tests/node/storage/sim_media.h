// A node's media in the crash simulator. The disk outlives the regions that are
// handed out: a crash makes new ones of what it left.
#ifndef KAMINO_TESTS_NODE_STORAGE_SIM_MEDIA_H_
#define KAMINO_TESTS_NODE_STORAGE_SIM_MEDIA_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/pmem/sim_region.h"
#include "node/storage/media.h"

namespace kamino::node {

// Not thread-safe.
class SimDisk {
 public:
  using Part = Media::Part;

  // `drains_all`: a drain of one region drains all of them, as a processor's
  // fence does.
  explicit SimDisk(bool drains_all = false) : drains_all_(drains_all) {}

  // From here on the parts are files on a disk (SimRegion::SyncPages). Nothing
  // is at risk yet.
  void SyncPages() {
    pages_ = true;
    for (auto& [part, region] : parts_) region->SyncPages();
  }

  // The simulated region of a part that exists; null when there is none.
  engine::SimRegion* region(Part part) {
    auto found = parts_.find(part);
    return found == parts_.end() ? nullptr : found->second.get();
  }

  // The power goes: each line that is not durable survives or not, as `seed`
  // decides. Users of the old regions go on with memory that has no effect; the
  // regions live as long as the disk does.
  void Crash(uint64_t seed) {
    ContinueWith([&seed](const engine::SimRegion& region) {
      return region.CrashImage(++seed);
    });
  }
  // The process dies, but the machine lives: every store survives.
  void Kill() {
    ContinueWith([](const engine::SimRegion& region) {
      return engine::SimRegion::Image(region.base(),
                                      region.base() + region.size());
    });
  }
  // The present contents of the parts, like a copy of the files that is made
  // while the process stands still.
  using Images = std::map<Part, engine::SimRegion::Image>;
  Images Copy() const {
    Images images;
    for (const auto& [part, region] : parts_) {
      images[part] = engine::SimRegion::Image(region->base(),
                                              region->base() + region->size());
    }
    return images;
  }
  // Puts such a copy back: of all parts, or of those that it has left. The disk
  // must not be in use.
  void PutBack(const Images& images) {
    Kill();
    for (const auto& [part, image] : images) {
      parts_[part] = std::make_unique<engine::SimRegion>(image);
      if (pages_) parts_[part]->SyncPages();
    }
  }
  // Frees the regions from before a crash, which must not be in use.
  void Bury() { graveyard_.clear(); }

  // Called at the beginning of every drain of a region that is in use: the
  // moment at which a crash does most harm.
  void SetDrainHook(std::function<void()> hook) {
    drain_hook_ = std::move(hook);
  }

 private:
  friend class SimMedia;

  template <typename ImageOf>
  void ContinueWith(const ImageOf& image_of) {
    ++life_;
    for (auto& [part, region] : unfinished_) {
      graveyard_.push_back(std::move(region));
    }
    unfinished_.clear();
    for (auto& [part, region] : parts_) {
      auto after = std::make_unique<engine::SimRegion>(image_of(*region));
      if (pages_) after->SyncPages();
      graveyard_.push_back(std::exchange(region, std::move(after)));
    }
  }
  void Drain(uint64_t life, engine::SimRegion* region) {
    if (life == life_ && drain_hook_) drain_hook_();
    if (life != life_ || !drains_all_) return region->Drain();
    for (auto& [part, each] : parts_) each->Drain();
    for (auto& [part, each] : unfinished_) each->Drain();
  }

  bool drains_all_;
  bool pages_ = false;
  std::function<void()> drain_hook_;
  uint64_t life_ = 0;  // grows with each crash
  std::map<Part, std::unique_ptr<engine::SimRegion>> parts_;
  std::map<Part, std::unique_ptr<engine::SimRegion>> unfinished_;
  std::vector<std::unique_ptr<engine::SimRegion>> graveyard_;
};

class SimMedia final : public Media {
 public:
  explicit SimMedia(SimDisk* disk) : disk_(disk), life_(disk->life_) {}

  bool Exists(Part part) const override {
    return disk_->parts_.count(part) != 0;
  }

  absl::StatusOr<std::unique_ptr<engine::Region>> Create(
      Part part, size_t bytes) override {
    if (Lost()) return absl::UnavailableError("crashed");
    auto& region = disk_->unfinished_[part];
    region = std::make_unique<engine::SimRegion>((bytes + 63) / 64 * 64);
    if (disk_->pages_) region->SyncPages();
    return std::unique_ptr<engine::Region>(new Handle(disk_, region.get()));
  }

  absl::Status Publish(Part part) override {
    if (Lost()) return absl::UnavailableError("crashed");
    disk_->parts_[part] = std::move(disk_->unfinished_[part]);
    disk_->unfinished_.erase(part);
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<engine::Region>> Open(Part part) override {
    if (Lost()) return absl::UnavailableError("crashed");
    if (!Exists(part)) return absl::NotFoundError(Name(part));
    return std::unique_ptr<engine::Region>(
        new Handle(disk_, disk_->parts_[part].get()));
  }

  absl::Status Remove(Part part) override {
    if (Lost()) return absl::UnavailableError("crashed");
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
      case Part::kUndoCopy:
        return "backup";
    }
    return "";
  }

 private:
  // A node's handle of a region of the disk.
  class Handle final : public engine::Region {
   public:
    Handle(SimDisk* disk, engine::SimRegion* region)
        : disk_(disk), life_(disk->life_), region_(region) {}
    std::byte* base() const override { return region_->base(); }
    size_t size() const override { return region_->size(); }
    void Flush(const void* data, size_t length) override {
      region_->Flush(data, length);
    }
    void Drain() override { disk_->Drain(life_, region_); }
    bool DrainsAll() const override { return disk_->drains_all_; }
    bool SyncsPages() const override { return disk_->pages_; }
    void CopyFlush(void* destination, const void* source,
                   size_t length) override {
      region_->CopyFlush(destination, source, length);
    }

   private:
    SimDisk* const disk_;
    const uint64_t life_;
    engine::SimRegion* const region_;
  };

  // The handle is from before a crash: its calls have no effect any more.
  bool Lost() const { return life_ != disk_->life_; }

  SimDisk* const disk_;
  const uint64_t life_;
};

}  // namespace kamino::node

#endif  // KAMINO_TESTS_NODE_STORAGE_SIM_MEDIA_H_
