// The newest version in each subtree of a B+tree, kept in volatile memory: by
// it a range is compared with a version in O(log n), where its records would be
// O(n).
//
// It is volatile because a durable one would make every change write the root:
// transactions that write different keys would depend on each other.
//
// Invariants:
//   1. What is noted of a page is no less than the version of any record under
//      it, nor than the erase_version of any leaf under it.
//   2. Of a page of which nothing is noted nothing is known: kUnknown, which is
//      no less than any version.
// So a page over which nothing newer is noted need not be looked into, and all
// others are. What is noted decides on what a comparison costs, never on what
// it says: nodes of a chain whose notes differ come to the same.
//
// That what is noted is too large happens where a page was cut: each half takes
// over the whole one's. What is newest is in one of the two, so a comparison
// looks into one page in vain, at each end of its range, before it finds it.
//
// Not thread-safe: transactions that share it run one after the other.
#ifndef KAMINO_ENGINE_INDEX_VERSION_SUMMARY_H_
#define KAMINO_ENGINE_INDEX_VERSION_SUMMARY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/transaction.h"

namespace kamino::engine {

class VersionSummary {
 public:
  static constexpr uint64_t kUnknown = ~uint64_t{0};

  // kUnknown: nothing is noted.
  uint64_t Newest(ObjectId page) const {
    const auto found = newest_.find(page);
    return found == newest_.end() ? kUnknown : found->second;
  }

  // --- What a transaction has changed.

  // Something under the page has that version now.
  void Raise(ObjectId page, uint64_t version);
  // A new page has part of what was under `from`, or all of it.
  void Inherit(ObjectId page, ObjectId from);
  // The page is no more.
  void Forget(ObjectId page);

  // The transaction has committed: what it changed stands.
  void Keep();
  // It was aborted: all is as it was at the last Keep or TakeBack.
  void TakeBack();

  // --- What was found out by looking; not within a transaction.

  void Note(ObjectId page, uint64_t newest) { newest_[page] = newest; }
  void ForgetAll();

  size_t pages() const { return newest_.size(); }

 private:
  void Change(ObjectId page, uint64_t newest);

  absl::flat_hash_map<ObjectId, uint64_t> newest_;
  // What the running transaction has changed, and what that was before.
  struct Before {
    ObjectId page;
    uint64_t newest;  // or kUnknown
  };
  std::vector<Before> before_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_INDEX_VERSION_SUMMARY_H_
