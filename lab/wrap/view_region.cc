#include "lab/wrap/view_region.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace kamino::engine {

absl::StatusOr<std::unique_ptr<ViewRegion>> ViewRegion::Load(
    const WrapLayout& layout, WrapLog* log) {
  const Region& home = *layout.region();
  void* const memory = mmap(nullptr, home.size(), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no memory for a view of a heap of ", home.size(), " bytes"));
  }
  auto* const base = static_cast<std::byte*>(memory);
  auto view = absl::WrapUnique(new ViewRegion(base, home.size(), log));
  std::memcpy(base, home.base(), layout.log_begin());
  std::memcpy(base + layout.log_end(), layout.At(layout.log_end()),
              home.size() - layout.log_end());
  return view;
}

ViewRegion::~ViewRegion() { munmap(base_, size_); }

void ViewRegion::Flush(const void* data, size_t length) {
  if (length == 0) return;
  const auto* const bytes = static_cast<const std::byte*>(data);
  const size_t offset = bytes - base_;
  CHECK(offset < size_ && length <= size_ - offset)
      << "flush outside the region";
  Wrap* mine;
  {
    MutexLock lock(&mutex_);
    mine = &open_[std::this_thread::get_id()];
  }
  log_->AppendAnonymous(mine, offset, {bytes, length});
}

void ViewRegion::Drain() {
  Wrap mine;
  {
    MutexLock lock(&mutex_);
    const auto found = open_.find(std::this_thread::get_id());
    if (found == open_.end()) return;
    mine = std::move(found->second);
    open_.erase(found);
  }
  if (mine.open()) log_->CloseAnonymous(&mine);
}

void ViewRegion::CopyFlush(void* destination, const void* source,
                           size_t length) {
  std::memcpy(destination, source, length);
  Flush(destination, length);
}

}  // namespace kamino::engine
