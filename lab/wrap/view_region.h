// A heap's memory as its users see it: in DRAM, ahead of the medium. It stands
// for the processor's cache and the controller's victim cache, from which
// nothing changes the medium (WrAP, section 3.1).
//
// Wraps bring home what their own transactions store here. Stores outside of
// transactions, such as the allocator's, are flushed and drained as on any
// region: the flushed bytes, and no others of their lines, become an anonymous
// wrap of the calling thread, which the drain closes. An ordinary flush would
// also write what transactions have stored to the same lines.
#ifndef KAMINO_LAB_WRAP_VIEW_REGION_H_
#define KAMINO_LAB_WRAP_VIEW_REGION_H_

#include <cstddef>
#include <map>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "engine/explore.h"
#include "engine/pmem/region.h"
#include "lab/wrap/wrap_layout.h"
#include "lab/wrap/wrap_log.h"

namespace kamino::engine {

// Thread-safe. Of threads that have flushed and not drained only one may have
// to wait for room in the log: the allocator's locks see to that.
class ViewRegion final : public Region {
 public:
  // Loads the bytes of `layout`'s region except the log. `log` must outlive
  // this. kResourceExhausted: no memory.
  static absl::StatusOr<std::unique_ptr<ViewRegion>> Load(
      const WrapLayout& layout, WrapLog* log);
  ~ViewRegion() override;
  ViewRegion(const ViewRegion&) = delete;
  ViewRegion& operator=(const ViewRegion&) = delete;

  std::byte* base() const override { return base_; }
  size_t size() const override { return size_; }
  void Flush(const void* data, size_t length) override;
  void Drain() override;
  void CopyFlush(void* destination, const void* source, size_t length) override;

 private:
  ViewRegion(std::byte* base, size_t size, WrapLog* log)
      : base_(base), size_(size), log_(log) {}

  std::byte* const base_;
  const size_t size_;
  WrapLog* const log_;

  Mutex mutex_;
  // Wraps of threads that have flushed and not drained; each belongs to its
  // thread.
  std::map<std::thread::id, Wrap> open_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_WRAP_VIEW_REGION_H_
