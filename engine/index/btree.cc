#include "engine/index/btree.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::engine {
namespace {

// More than any tree with keys of 1 KiB in 2^64 bytes needs.
constexpr int kMaxDepth = 40;
constexpr size_t kMaxKey = 1024;
// A scan prefetches records so far ahead of the one that it visits.
constexpr int kScanAhead = 8;

// The shortest bound that is over `left` and not over `right`.
std::string Separator(absl::string_view left, absl::string_view right) {
  return std::string(right.substr(0, SharedLength(left, right) + 1));
}

absl::Status TooDeep(ObjectId root) {
  return absl::DataLossError(
      absl::StrCat("the index at ", root, " is damaged: it has a cycle"));
}

absl::Status OutOfOrder(ObjectId leaf) {
  return absl::DataLossError(absl::StrCat("the index is damaged: leaf ", leaf,
                                          " is empty or out of order"));
}

}  // namespace

// --- Reading.

absl::StatusOr<std::vector<BTreeReader::Step>> BTreeReader::Descend(
    absl::string_view key) {
  std::vector<Step> path;
  ObjectId id = root_;
  while (path.size() < kMaxDepth) {
    ASSIGN_OR_RETURN(auto page, Page::Read(*reader_, id));
    if (page.leaf()) {
      path.push_back({page, -1});
      return path;
    }
    const int child = page.ChildFor(key);
    path.push_back({page, child});
    id = page.object(child);
  }
  return TooDeep(root_);
}

absl::StatusOr<ObjectId> BTreeReader::Find(absl::string_view key,
                                           PageIds* path) {
  ObjectId id = root_;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    if (path != nullptr) path->push_back(id);
    ASSIGN_OR_RETURN(auto page, Page::Read(*reader_, id));
    if (page.leaf()) {
      // Its record is fetched while the key is.
      reader_->Prefetch(page.Likely(key));
      bool equal;
      const int at = page.LowerBound(key, &equal);
      if (!equal) return absl::NotFoundError("no such key");
      return page.object(at);
    }
    id = page.object(page.ChildFor(key));
  }
  return TooDeep(root_);
}

absl::Status BTreeReader::VisitLeaves(absl::string_view start,
                                      absl::string_view end,
                                      const VersionSummary* summary,
                                      uint64_t since, LeafVisitor visit) {
  LeafWalk walk{start, end, summary, since, visit, {}};
  return VisitLeaves(root_, 0, &walk).status();
}

absl::StatusOr<bool> BTreeReader::VisitLeaves(ObjectId id, int depth,
                                              LeafWalk* walk) {
  if (walk->summary != nullptr && walk->summary->Newest(id) <= walk->since) {
    return true;
  }
  if (depth == kMaxDepth) return TooDeep(root_);
  ASSIGN_OR_RETURN(auto page, Page::Read(*reader_, id));
  if (page.leaf()) {
    // Damaged pages could lead to a leaf repeatedly without end.
    if (depth > 0) {
      const absl::string_view first = page.count() > 0 ? page.key(0) : "";
      if (first <= walk->last) return OutOfOrder(id);
      walk->last = first;
    }
    return walk->visit(page);
  }
  for (int i = page.ChildFor(walk->start); i < page.count(); ++i) {
    if (i > 0 && !walk->end.empty() && page.key(i) >= walk->end) return false;
    auto more = VisitLeaves(page.object(i), depth + 1, walk);
    if (!more.ok() || !*more) return more;
  }
  return true;
}

absl::Status BTreeReader::Scan(
    absl::string_view start, absl::string_view end,
    absl::FunctionRef<absl::StatusOr<bool>(absl::string_view, ObjectId)>
        visit) {
  const auto visit_leaf = [&](const Page& leaf) -> absl::StatusOr<bool> {
    bool equal;
    for (int i = leaf.LowerBound(start, &equal); i < leaf.count(); ++i) {
      if (!end.empty() && leaf.key(i) >= end) return false;
      if (i + kScanAhead < leaf.count()) {
        reader_->Prefetch(leaf.object(i + kScanAhead));
      }
      auto more = visit(leaf.key(i), leaf.object(i));
      if (!more.ok() || !*more) return more;
    }
    return true;
  };
  return VisitLeaves(start, end, /*summary=*/nullptr, /*since=*/0, visit_leaf);
}

absl::StatusOr<bool> BTreeReader::Summarize(VersionSummary* summary,
                                            uint64_t objects,
                                            VersionOf version_of) {
  Summing summing{summary, objects, version_of};
  return Summarize(root_, 0, &summing);
}

absl::StatusOr<bool> BTreeReader::Summarize(ObjectId id, int depth,
                                            Summing* summing) {
  if (summing->summary->Newest(id) != VersionSummary::kUnknown) return true;
  if (depth == kMaxDepth) return TooDeep(root_);
  if (summing->objects == 0) return false;
  ASSIGN_OR_RETURN(auto page, Page::Read(*reader_, id));
  const uint64_t looked_at = page.leaf() ? 1 + page.count() : 1;
  summing->objects -= std::min(summing->objects, looked_at);
  uint64_t newest = page.leaf() ? page.erase_version() : 0;
  for (int i = 0; i < page.count(); ++i) {
    const ObjectId object = page.object(i);
    uint64_t version = 0;
    if (page.leaf()) {
      ASSIGN_OR_RETURN(version, summing->version_of(object));
    } else {
      ASSIGN_OR_RETURN(const bool known, Summarize(object, depth + 1, summing));
      if (!known) return false;
      version = summing->summary->Newest(object);
    }
    newest = std::max(newest, version);
  }
  summing->summary->Note(id, newest);
  return true;
}

// --- Changing.

absl::StatusOr<ObjectId> BTree::Create(Transaction& transaction) {
  return PageEditor(&transaction).New(index_format::PageKind::kLeaf, 0);
}

absl::Status BTree::Free(ObjectId page) {
  if (summary_ != nullptr) summary_->Forget(page);
  return transaction_->Free(page);
}

absl::Status BTree::Set(absl::string_view key, ObjectId object,
                        uint64_t version) {
  ASSIGN_OR_RETURN(auto path, Descend(key));
  for (const Step& step : path) Raise(step.page.id(), version);
  const Page& leaf = path.back().page;
  bool equal;
  const int at = leaf.LowerBound(key, &equal);
  PageEditor editor(transaction_);
  if (equal) return editor.SetObject(leaf, at, object);
  // The key may point into a page that is about to be rewritten.
  const std::string own_key(key);
  if (leaf.HasRoom(key.size())) {
    return editor.Insert(leaf, at, own_key, object);
  }
  return Insert(own_key, object, version);
}

// Descends once more, and splits every page on the way that might have no room
// for the entries from below.
absl::Status BTree::Insert(absl::string_view key, ObjectId object,
                           uint64_t version) {
  const auto full = [&key](const Page& page) {
    return !page.HasRoom(page.leaf() ? key.size() : kMaxKey);
  };
  ASSIGN_OR_RETURN(auto root, Page::Read(*transaction_, root_));
  if (full(root)) {
    RETURN_IF_ERROR(PushRootDown());
  }
  ObjectId id = root_;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    ASSIGN_OR_RETURN(auto page, Page::Read(*transaction_, id));
    if (page.leaf()) {
      bool equal;
      const int at = page.LowerBound(key, &equal);
      return PageEditor(transaction_).Insert(page, at, key, object);
    }
    const int at = page.ChildFor(key);
    auto child = Page::Read(*transaction_, page.object(at));
    if (!child.ok()) return child.status();
    if (full(*child)) {
      RETURN_IF_ERROR(SplitChild(id, at));
      continue;  // the key's child may be the new one
    }
    id = child->id();
    Raise(id, version);
  }
  return TooDeep(root_);
}

absl::Status BTree::PushRootDown() {
  ASSIGN_OR_RETURN(auto root, Page::Read(*transaction_, root_));
  PageEditor editor(transaction_);
  ASSIGN_OR_RETURN(auto child, editor.New(index_format::PageKind::kLeaf, 0));
  RETURN_IF_ERROR(editor.Copy(root, child));
  Inherit(child, root_);
  return editor.MakeParentOf(root, child);
}

absl::Status BTree::SplitChild(ObjectId parent, int at) {
  ASSIGN_OR_RETURN(auto parent_page, Page::Read(*transaction_, parent));
  ASSIGN_OR_RETURN(auto child,
                   Page::Read(*transaction_, parent_page.object(at)));
  ASSIGN_OR_RETURN(auto middle, child.Middle());
  const std::string bound =
      child.leaf() ? Separator(child.key(middle - 1), child.key(middle))
                   : std::string(child.key(middle));
  PageEditor editor(transaction_);
  ASSIGN_OR_RETURN(auto right, editor.Split(child, middle));
  Inherit(right, child.id());
  return editor.Insert(parent_page, at + 1, bound, right);
}

absl::Status BTree::Erase(absl::string_view key, uint64_t version) {
  ASSIGN_OR_RETURN(auto path, Descend(key));
  const Page& leaf = path.back().page;
  bool equal;
  const int at = leaf.LowerBound(key, &equal);
  if (!equal) return absl::NotFoundError("no such key");
  RETURN_IF_ERROR(PageEditor(transaction_).Remove(leaf, at, version));
  for (const Step& step : path) Raise(step.page.id(), version);
  ASSIGN_OR_RETURN(auto left, Page::Read(*transaction_, leaf.id()));
  if (left.count() > 0) return absl::OkStatus();
  path.back().page = left;
  absl::Status unlinked = UnlinkEmptyLeaf(path);
  return unlinked.ok() ? PullUpIntoRoot() : unlinked;
}

absl::Status BTree::RaiseEraseVersion(uint64_t version) {
  ASSIGN_OR_RETURN(auto root, Page::Read(*transaction_, root_));
  if (!root.leaf()) {
    return absl::FailedPreconditionError("the tree has more than one page");
  }
  RETURN_IF_ERROR(PageEditor(transaction_).RaiseEraseVersion(root, version));
  Raise(root_, version);
  return absl::OkStatus();
}

absl::StatusOr<ObjectId> BTree::OuterLeaf(ObjectId id, bool first,
                                          uint64_t erase_version) {
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    Raise(id, erase_version);
    ASSIGN_OR_RETURN(auto page, Page::Read(*transaction_, id));
    if (page.leaf()) return id;
    id = page.object(first ? 0 : page.count() - 1);
  }
  return TooDeep(root_);
}

// The pages over the leaf that have no other child go with it. A neighbour
// takes over the leaf's keys, and so its erase_version.
absl::Status BTree::UnlinkEmptyLeaf(const std::vector<Step>& path) {
  int fork = static_cast<int>(path.size()) - 2;
  while (fork >= 0 && path[fork].page.count() == 1) --fork;
  if (fork < 0) return absl::OkStatus();  // the tree's only leaf
  const Page& parent = path[fork].page;
  const int at = path[fork].child;
  const bool first = at == 0;
  const uint64_t erase_version = path.back().page.erase_version();
  ASSIGN_OR_RETURN(auto heir_id, OuterLeaf(parent.object(first ? 1 : at - 1),
                                           first, erase_version));
  ASSIGN_OR_RETURN(auto heir, Page::Read(*transaction_, heir_id));
  PageEditor editor(transaction_);
  absl::Status done = editor.RaiseEraseVersion(heir, erase_version);
  // The first child's bound stays; its place goes to the second.
  if (done.ok() && first) done = editor.SetObject(parent, 0, parent.object(1));
  if (done.ok()) done = editor.Remove(parent, first ? 1 : at, 0);
  for (size_t i = fork + 1; done.ok() && i < path.size(); ++i) {
    done = Free(path[i].page.id());
  }
  return done;
}

absl::Status BTree::PullUpIntoRoot() {
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    ASSIGN_OR_RETURN(auto root, Page::Read(*transaction_, root_));
    if (root.leaf() || root.count() > 1) return absl::OkStatus();
    ASSIGN_OR_RETURN(auto child, Page::Read(*transaction_, root.object(0)));
    absl::Status copied = PageEditor(transaction_).Copy(child, root_);
    if (copied.ok()) copied = Free(child.id());
    if (!copied.ok()) return copied;
  }
  return TooDeep(root_);
}

}  // namespace kamino::engine
