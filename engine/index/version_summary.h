// The newest version in each subtree of a B+tree, in volatile memory: it
// compares a range with a version in O(log n) instead of O(n) records.
//
// It is volatile because a durable one would make every change write the root:
// transactions that write different keys would depend on each other.
//
// Invariants:
//   1. The version noted for a page is at least that of any record under it,
//      and the erase_version of any leaf under it.
//   2. Without a note a page is kUnknown, which is at least any version.
// So a comparison skips pages whose note is not newer, and reads all others.
// Notes decide only its cost, never its result: nodes of a chain with different
// notes get the same result.
//
// A note is too large where a page was split: each half inherits the note of
// the whole page. The newest version is in one of them, so a comparison reads
// one extra page, at each end of its range, before it finds it.
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

  // --- Changes of a transaction.

  // A record under the page now has that version.
  void Raise(ObjectId page, uint64_t version);
  // A new page has part of what was under `from`, or all of it.
  void Inherit(ObjectId page, ObjectId from);
  // The page is gone.
  void Forget(ObjectId page);

  // The transaction has committed: its changes stay.
  void Keep();
  // It was aborted: restores the state at the last Keep or RollBack.
  void RollBack();

  // --- Notes from reading the tree; not within a transaction.

  void Note(ObjectId page, uint64_t newest) { newest_[page] = newest; }
  void ForgetAll();

  size_t pages() const { return newest_.size(); }

 private:
  void Change(ObjectId page, uint64_t newest);

  absl::flat_hash_map<ObjectId, uint64_t> newest_;
  // A change of the running transaction, and the state before it.
  struct Before {
    ObjectId page;
    uint64_t newest;  // or kUnknown
  };
  std::vector<Before> before_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_INDEX_VERSION_SUMMARY_H_
