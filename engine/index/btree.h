// A persistent B+tree from keys to object ids, over the transaction interface.
//
// Invariants:
//   1. The root's page id never changes: a root that is full moves its content
//      into a new child.
//   2. Child i of an inner page holds the keys from bound i to bound i + 1.
//   3. A leaf's erase_version is at least that of every Erase in the range of
//      keys it stands for, also by leaves that are gone.
//   4. A leaf other than the root is never empty.
// Erasing does not merge pages that are merely underfull.
#ifndef KAMINO_ENGINE_INDEX_BTREE_H_
#define KAMINO_ENGINE_INDEX_BTREE_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/index/page.h"
#include "engine/transaction.h"

namespace kamino::engine {

// Keys are 1 to 1,024 bytes. kDataLoss: the tree is damaged. Errors of the
// reader or the transaction pass unchanged. Nothing is declared by a call that
// fails for another reason.
class BTreeReader {
 public:
  BTreeReader(Reader* reader, ObjectId root) : reader_(reader), root_(root) {}

  // kNotFound.
  absl::StatusOr<ObjectId> Find(absl::string_view key);

  // Ascending keys of [start, end), an empty end meaning to the last, until
  // `visit` returns false or an error, which is returned. `key` is valid within
  // the call, which must not change the tree.
  absl::Status Scan(absl::string_view start, absl::string_view end,
                    absl::FunctionRef<absl::StatusOr<bool>(
                        absl::string_view key, ObjectId object)>
                        visit);

  // Largest erase_version of the leaves that stand for keys of [start, end).
  absl::StatusOr<uint64_t> EraseVersion(absl::string_view start,
                                        absl::string_view end);

 protected:
  // The pages from the root down to the leaf for `key`, and the position taken
  // in each but the last.
  struct Step {
    Page page;
    int child;
  };
  absl::StatusOr<std::vector<Step>> Descend(absl::string_view key);

 private:
  // Calls `visit` for every leaf that stands for keys of [start, end), in
  // order, until it returns false.
  using LeafVisitor = absl::FunctionRef<absl::StatusOr<bool>(const Page&)>;
  absl::Status VisitLeaves(absl::string_view start, absl::string_view end,
                           LeafVisitor visit);
  struct LeafWalk {
    absl::string_view start;
    absl::string_view end;
    LeafVisitor visit;
    absl::string_view last;  // first key of the leaf before
  };
  // False: to be ended.
  absl::StatusOr<bool> VisitLeaves(ObjectId id, int depth, LeafWalk* walk);

 protected:
  Reader* const reader_;
  const ObjectId root_;
};

class BTree : public BTreeReader {
 public:
  // A new, empty tree; returns its root.
  static absl::StatusOr<ObjectId> Create(Transaction& transaction);

  BTree(Transaction* transaction, ObjectId root)
      : BTreeReader(transaction, root), transaction_(transaction) {}

  // Points `key`, new or not, to `object`.
  absl::Status Set(absl::string_view key, ObjectId object);

  // kNotFound.
  absl::Status Erase(absl::string_view key, uint64_t version);

 private:
  absl::Status Insert(absl::string_view key, ObjectId object);
  // Splits child `at` of `parent`, which has room for any bound.
  absl::Status SplitChild(ObjectId parent, int at);
  absl::Status PushRootDown();
  // `path` leads to the leaf.
  absl::Status UnlinkEmptyLeaf(const std::vector<Step>& path);
  // The first or the last leaf under a page.
  absl::StatusOr<ObjectId> OuterLeaf(ObjectId id, bool first);
  absl::Status PullUpIntoRoot();

  Transaction* const transaction_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_INDEX_BTREE_H_
