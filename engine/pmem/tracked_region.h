// A region that records, on request, which pages of another one were made
// durable: those that a concurrent copy must take again, or that an earlier
// copy lacks.
#ifndef KAMINO_ENGINE_PMEM_TRACKED_REGION_H_
#define KAMINO_ENGINE_PMEM_TRACKED_REGION_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/pmem/page_set.h"
#include "engine/pmem/region.h"

namespace kamino::engine {

// As the region below, but while it tracks, only one thread may use it.
class TrackedRegion final : public Region {
 public:
  static constexpr size_t kPageBytes = PageSet::kPageBytes;

  explicit TrackedRegion(std::unique_ptr<Region> below)
      : below_(std::move(below)) {}

  std::byte* base() const override { return below_->base(); }
  size_t size() const override { return below_->size(); }
  bool DrainsAll() const override { return below_->DrainsAll(); }
  bool SyncsPages() const override { return below_->SyncsPages(); }
  void Drain() override { below_->Drain(); }

  void Flush(const void* data, size_t length) override {
    if (marks_) Mark(data, length);
    below_->Flush(data, length);
  }

  void CopyFlush(void* destination, const void* source,
                 size_t length) override {
    if (marks_) Mark(destination, length);
    below_->CopyFlush(destination, source, length);
  }

  // --- Not while another thread uses the region.

  // Tracks pages that reach past `begin` from here on; none is dirty yet. It
  // must not track already: the other user's dirty pages would be lost.
  void StartTracking(size_t begin = 0);
  void StopTracking();
  // Pages flushed since StartTracking and not taken.
  size_t dirty_pages() const { return dirty_.count(); }
  // The first dirty page at or after `page`, which becomes clean; the number of
  // pages if there is none.
  size_t TakeDirty(size_t page);
  // While it tracks: `pages` become dirty too.
  void AddDirty(const PageSet& pages);
  size_t pages() const { return (size() + kPageBytes - 1) / kPageBytes; }

  // From here on adds flushed pages to this set too, independently of tracking;
  // null: to none. It must outlive that.
  void Collect(PageSet* changed);

 private:
  void Mark(const void* data, size_t length);

  const std::unique_ptr<Region> below_;
  bool marks_ = false;  // tracks, or collects
  bool tracking_ = false;
  size_t first_page_ = 0;  // earlier ones are not tracked
  PageSet dirty_;
  PageSet* changed_ = nullptr;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_TRACKED_REGION_H_
