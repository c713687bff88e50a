// A part of another region, which it keeps alive.
#ifndef KAMINO_ENGINE_PMEM_SUB_REGION_H_
#define KAMINO_ENGINE_PMEM_SUB_REGION_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "engine/pmem/region.h"

namespace kamino::engine {

class SubRegion final : public Region {
 public:
  // [offset, offset + size) of `whole`; `offset` is a multiple of 4,096.
  SubRegion(std::shared_ptr<Region> whole, size_t offset, size_t size)
      : whole_(std::move(whole)), base_(whole_->base() + offset), size_(size) {}

  std::byte* base() const override { return base_; }
  size_t size() const override { return size_; }
  void Flush(const void* data, size_t length) override {
    whole_->Flush(data, length);
  }
  void Drain() override { whole_->Drain(); }
  bool DrainsAll() const override { return whole_->DrainsAll(); }
  bool SyncsPages() const override { return whole_->SyncsPages(); }
  void CopyFlush(void* destination, const void* source,
                 size_t length) override {
    whole_->CopyFlush(destination, source, length);
  }

 private:
  const std::shared_ptr<Region> whole_;
  std::byte* const base_;
  const size_t size_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_SUB_REGION_H_
