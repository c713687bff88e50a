// When a line that the cache has let go may leave the victim cache: once every
// wrap has retired that had been opened before (WrAP, section 3.1). Two ways to
// know that, which come to the same: by the oldest of a line's wraps that has
// not retired its dependence set is empty exactly when its watermark has been
// passed.
//
// Wraps are numbered from 1 as they are opened. The paper recycles its ids, and
// says that two versions of each suffice for a FIFO that is looked at from its
// head; they do not where one wrap stays open while others come and go.
#ifndef KAMINO_LAB_CONTROLLER_RELEASE_RULE_H_
#define KAMINO_LAB_CONTROLLER_RELEASE_RULE_H_

#include <cstdint>
#include <set>

#include "absl/container/inlined_vector.h"

namespace kamino::bench::controller {

using WrapNumber = uint64_t;

// A line that is let go is tagged with the last number that was opened.
class WatermarkRule {
 public:
  using Tag = WrapNumber;

  void Open(WrapNumber wrap);
  void Retire(WrapNumber wrap) { open_.erase(wrap); }

  // For a line that is let go now.
  Tag Now() const { return last_; }
  bool MayGo(Tag* tag) const;

 private:
  std::set<WrapNumber> open_;  // and not retired
  WrapNumber last_ = 0;
};

// A tag lists the wraps that were open; MayGo removes those that have retired.
class DependenceSetRule {
 public:
  using Tag = absl::InlinedVector<WrapNumber, 8>;

  void Open(WrapNumber wrap) { open_.insert(wrap); }
  void Retire(WrapNumber wrap) { open_.erase(wrap); }

  Tag Now() const { return Tag(open_.begin(), open_.end()); }
  bool MayGo(Tag* tag) const;

 private:
  std::set<WrapNumber> open_;
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_RELEASE_RULE_H_
