// A persistent B+tree from keys to object ids, over the transaction interface.
//
// Invariants:
//   1. The root's page id never changes: a root that is full moves its content
//      into a new child.
//   2. Child i of an inner page holds the keys from bound i to bound i + 1.
//   3. A leaf's erase_version is at least that of every Erase in its range of
//      keys, including erases in leaves that are gone.
//   4. A leaf other than the root is never empty.
// Erasing does not merge pages that are merely underfull.
#ifndef KAMINO_ENGINE_INDEX_BTREE_H_
#define KAMINO_ENGINE_INDEX_BTREE_H_

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/index/page.h"
#include "engine/index/version_summary.h"
#include "engine/transaction.h"

namespace kamino::engine {

// Keys are 1 to 1,024 bytes. kDataLoss: the tree is damaged. Errors of the
// reader or the transaction pass unchanged. A call that fails for another
// reason declares nothing.
class BTreeReader {
 public:
  BTreeReader(Reader* reader, ObjectId root) : reader_(reader), root_(root) {}

  // From the root down to a leaf.
  using PageIds = absl::InlinedVector<ObjectId, 8>;

  // kNotFound. `path`, which may be null, receives the pages that lead there.
  absl::StatusOr<ObjectId> Find(absl::string_view key, PageIds* path = nullptr);

  // Visits the keys of [start, end) in ascending order, to the last if `end` is
  // empty, until `visit` returns false or an error, which is returned. `key` is
  // valid within the call, which must not change the tree.
  absl::Status Scan(absl::string_view start, absl::string_view end,
                    absl::FunctionRef<absl::StatusOr<bool>(
                        absl::string_view key, ObjectId object)>
                        visit);

  // Calls `visit` for every leaf of keys in [start, end), in order, until it
  // returns false. Skips leaves under pages for which `summary`, which may be
  // null, has nothing newer than `since`.
  using LeafVisitor = absl::FunctionRef<absl::StatusOr<bool>(const Page&)>;
  absl::Status VisitLeaves(absl::string_view start, absl::string_view end,
                           const VersionSummary* summary, uint64_t since,
                           LeafVisitor visit);

  // Adds unknown parts of the tree to `summary`. Examines at most about
  // `objects`, and calls `version_of` for each that is not a page; false: there
  // is more to do. Not within a transaction.
  using VersionOf = absl::FunctionRef<absl::StatusOr<uint64_t>(ObjectId)>;
  absl::StatusOr<bool> Summarize(VersionSummary* summary, uint64_t objects,
                                 VersionOf version_of);

 protected:
  // The pages from the root down to the leaf for `key`, and the position in
  // each but the last.
  struct Step {
    Page page;
    int child;
  };
  absl::StatusOr<std::vector<Step>> Descend(absl::string_view key);

 private:
  struct LeafWalk {
    absl::string_view start;
    absl::string_view end;
    const VersionSummary* summary;
    uint64_t since;
    LeafVisitor visit;
    absl::string_view last;  // first key of the leaf before
  };
  // False: stop.
  absl::StatusOr<bool> VisitLeaves(ObjectId id, int depth, LeafWalk* walk);

  struct Summing {
    VersionSummary* summary;
    uint64_t objects;  // that may still be examined
    VersionOf version_of;
  };
  // False: to be continued.
  absl::StatusOr<bool> Summarize(ObjectId id, int depth, Summing* summing);

 protected:
  Reader* const reader_;
  const ObjectId root_;
};

class BTree : public BTreeReader {
 public:
  // A new, empty tree; returns its root.
  static absl::StatusOr<ObjectId> Create(Transaction& transaction);

  // `summary` may be null. Otherwise it receives every change; these count once
  // the transaction has ended and the summary was told how.
  BTree(Transaction* transaction, ObjectId root,
        VersionSummary* summary = nullptr)
      : BTreeReader(transaction, root),
        transaction_(transaction),
        summary_(summary) {}

  // Points `key`, new or not, to `object`, a record of that version.
  absl::Status Set(absl::string_view key, ObjectId object, uint64_t version);

  // kNotFound.
  absl::Status Erase(absl::string_view key, uint64_t version);

  // As if keys throughout the tree had been erased by that version. For a tree
  // of one page: its later pages inherit it.
  absl::Status RaiseEraseVersion(uint64_t version);

 private:
  absl::Status Insert(absl::string_view key, ObjectId object, uint64_t version);
  // Splits child `at` of `parent`, which has room for any bound.
  absl::Status SplitChild(ObjectId parent, int at);
  absl::Status PushRootDown();
  // `path` leads to the leaf.
  absl::Status UnlinkEmptyLeaf(const std::vector<Step>& path);
  // The first or the last leaf under a page, which takes over an erase_version.
  absl::StatusOr<ObjectId> OuterLeaf(ObjectId id, bool first,
                                     uint64_t erase_version);
  absl::Status PullUpIntoRoot();
  void Raise(ObjectId page, uint64_t version) {
    if (summary_ != nullptr) summary_->Raise(page, version);
  }
  void Inherit(ObjectId page, ObjectId from) {
    if (summary_ != nullptr) summary_->Inherit(page, from);
  }
  absl::Status Free(ObjectId page);

  Transaction* const transaction_;
  VersionSummary* const summary_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_INDEX_BTREE_H_
