// The ranges of objects that a transaction has declared, in their order.
#ifndef KAMINO_ENGINE_BASELINES_DECLARED_RANGES_H_
#define KAMINO_ENGINE_BASELINES_DECLARED_RANGES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"

namespace kamino::engine {

// `Range` has members {size_t object; uint32_t offset; uint32_t length}, the
// object by its place among those held.
template <typename Range>
class DeclaredRanges {
 public:
  void Add(const Range& range) { all_.push_back(range); }

  // Covering looks at as many ranges as are declared together.
  void Expect(size_t count) {
    looked_at_ = std::max(looked_at_, std::min(count, kMostLookedAt));
  }

  // The range, of those declared last, that contains this one. Null: none.
  Range* Covering(size_t object, uint32_t offset, uint32_t length) {
    const size_t looked = std::min(looked_at_, all_.size());
    for (size_t i = all_.size(); i > all_.size() - looked; --i) {
      Range& range = all_[i - 1];
      if (range.object == object && range.offset <= offset &&
          length <= range.length &&
          offset - range.offset <= range.length - length) {
        return &range;
      }
    }
    return nullptr;
  }

  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  // A transaction of many ranges does not look at all of them for each.
  static constexpr size_t kMostLookedAt = 64;

  absl::InlinedVector<Range, 8> all_;
  size_t looked_at_ = 8;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_DECLARED_RANGES_H_
