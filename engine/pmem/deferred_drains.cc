#include "engine/pmem/deferred_drains.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace kamino::engine {

class DeferredDrains::DeferringRegion final : public Region {
 public:
  DeferringRegion(DeferredDrains* drains, std::unique_ptr<Region> below)
      : drains_(drains), below_(std::move(below)) {
    drains_->regions_.push_back(this);
  }
  ~DeferringRegion() override {
    auto& regions = drains_->regions_;
    regions.erase(std::find(regions.begin(), regions.end(), this));
  }

  std::byte* base() const override { return below_->base(); }
  size_t size() const override { return below_->size(); }
  bool DrainsAll() const override { return below_->DrainsAll(); }
  bool SyncsPages() const override { return below_->SyncsPages(); }
  void Flush(const void* data, size_t length) override {
    below_->Flush(data, length);
  }
  void Drain() override {
    if (!drains_->deferred_) below_->Drain();
  }
  void CopyFlush(void* destination, const void* source,
                 size_t length) override {
    below_->CopyFlush(destination, source, length);
  }

 private:
  DeferredDrains* const drains_;
  const std::unique_ptr<Region> below_;
};

std::unique_ptr<Region> DeferredDrains::Wrap(std::unique_ptr<Region> below) {
  return std::make_unique<DeferringRegion>(this, std::move(below));
}

void DeferredDrains::End() {
  if (!std::exchange(deferred_, false)) return;
  for (DeferringRegion* region : regions_) region->Drain();
}

void DeferredDrains::DrainNow() {
  const bool deferred = deferred_;
  deferred_ = false;
  for (DeferringRegion* region : regions_) region->Drain();
  deferred_ = deferred;
}

}  // namespace kamino::engine
