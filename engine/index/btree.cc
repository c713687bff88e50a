#include "engine/index/btree.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kamino::engine {
namespace {

// More than any tree of keys of 1 KiB in 2^64 bytes needs.
constexpr int kMaxDepth = 40;
constexpr size_t kMaxKey = 1024;

absl::Status TooDeep(ObjectId root) {
  return absl::DataLossError(
      absl::StrCat("the index at ", root, " is damaged: it has a cycle"));
}

}  // namespace

// --- Reading.

absl::StatusOr<std::vector<BTreeReader::Step>> BTreeReader::Descend(
    absl::string_view key) {
  std::vector<Step> path;
  ObjectId id = root_;
  while (path.size() < kMaxDepth) {
    auto page = Page::Read(*reader_, id);
    if (!page.ok()) return page.status();
    if (page->leaf()) {
      path.push_back({*page, -1});
      return path;
    }
    const int child = page->ChildFor(key);
    path.push_back({*page, child});
    id = page->object(child);
  }
  return TooDeep(root_);
}

absl::StatusOr<ObjectId> BTreeReader::Find(absl::string_view key) {
  ObjectId id = root_;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    auto page = Page::Read(*reader_, id);
    if (!page.ok()) return page.status();
    if (page->leaf()) {
      bool equal;
      const int at = page->LowerBound(key, &equal);
      if (!equal) return absl::NotFoundError("no such key");
      return page->object(at);
    }
    id = page->object(page->ChildFor(key));
  }
  return TooDeep(root_);
}

absl::StatusOr<bool> BTreeReader::VisitLeaves(ObjectId id, int depth,
                                              absl::string_view start,
                                              absl::string_view end,
                                              LeafVisitor visit) {
  if (depth == kMaxDepth) return TooDeep(root_);
  auto page = Page::Read(*reader_, id);
  if (!page.ok()) return page.status();
  if (page->leaf()) return visit(*page);
  for (int i = page->ChildFor(start); i < page->count(); ++i) {
    if (i > 0 && !end.empty() && page->key(i) >= end) return false;
    auto more = VisitLeaves(page->object(i), depth + 1, start, end, visit);
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
      auto more = visit(leaf.key(i), leaf.object(i));
      if (!more.ok() || !*more) return more;
    }
    return true;
  };
  return VisitLeaves(root_, 0, start, end, visit_leaf).status();
}

absl::StatusOr<uint64_t> BTreeReader::EraseVersion(absl::string_view start,
                                                   absl::string_view end) {
  uint64_t version = 0;
  auto visited = VisitLeaves(
      root_, 0, start, end, [&](const Page& leaf) -> absl::StatusOr<bool> {
        version = std::max(version, leaf.erase_version());
        return true;
      });
  if (!visited.ok()) return visited.status();
  return version;
}

// --- Changing.

absl::StatusOr<ObjectId> BTree::Create(Transaction& transaction) {
  return PageEditor(&transaction).New(index_format::PageKind::kLeaf, 0);
}

absl::Status BTree::Set(absl::string_view key, ObjectId object) {
  auto path = Descend(key);
  if (!path.ok()) return path.status();
  const Page& leaf = path->back().page;
  bool equal;
  const int at = leaf.LowerBound(key, &equal);
  PageEditor editor(transaction_);
  if (equal) return editor.SetObject(leaf, at, object);
  // The key may point into a page that is about to be rewritten.
  const std::string own_key(key);
  if (leaf.HasRoom(key.size())) {
    return editor.Insert(leaf, at, own_key, object);
  }
  return Insert(own_key, object);
}

// Goes down once more and splits, on the way, every page that might not have
// room for what comes from below.
absl::Status BTree::Insert(absl::string_view key, ObjectId object) {
  const auto full = [&key](const Page& page) {
    return !page.HasRoom(page.leaf() ? key.size() : kMaxKey);
  };
  auto root = Page::Read(*transaction_, root_);
  if (!root.ok()) return root.status();
  if (full(*root)) {
    if (absl::Status pushed = PushRootDown(); !pushed.ok()) return pushed;
  }
  ObjectId id = root_;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    auto page = Page::Read(*transaction_, id);
    if (!page.ok()) return page.status();
    if (page->leaf()) {
      bool equal;
      const int at = page->LowerBound(key, &equal);
      return PageEditor(transaction_).Insert(*page, at, key, object);
    }
    const int at = page->ChildFor(key);
    auto child = Page::Read(*transaction_, page->object(at));
    if (!child.ok()) return child.status();
    if (full(*child)) {
      if (absl::Status split = SplitChild(id, at); !split.ok()) return split;
      continue;  // the key's child may be the new one
    }
    id = child->id();
  }
  return TooDeep(root_);
}

absl::Status BTree::PushRootDown() {
  auto root = Page::Read(*transaction_, root_);
  if (!root.ok()) return root.status();
  PageEditor editor(transaction_);
  auto child = editor.New(index_format::PageKind::kLeaf, 0);
  if (!child.ok()) return child.status();
  absl::Status copied = editor.Copy(*root, *child);
  if (!copied.ok()) return copied;
  return editor.MakeParentOf(*root, *child);
}

absl::Status BTree::SplitChild(ObjectId parent, int at) {
  auto parent_page = Page::Read(*transaction_, parent);
  if (!parent_page.ok()) return parent_page.status();
  auto child = Page::Read(*transaction_, parent_page->object(at));
  if (!child.ok()) return child.status();
  const int middle = child->Middle();
  const std::string bound(child->key(middle));
  PageEditor editor(transaction_);
  auto right = editor.Split(*child, middle);
  if (!right.ok()) return right.status();
  return editor.Insert(*parent_page, at + 1, bound, *right);
}

absl::Status BTree::Erase(absl::string_view key, uint64_t version) {
  auto path = Descend(key);
  if (!path.ok()) return path.status();
  const Page& leaf = path->back().page;
  bool equal;
  const int at = leaf.LowerBound(key, &equal);
  if (!equal) return absl::NotFoundError("no such key");
  absl::Status removed = PageEditor(transaction_).Remove(leaf, at, version);
  if (!removed.ok() || path->size() == 1) return removed;
  auto left = Page::Read(*transaction_, leaf.id());
  if (!left.ok()) return left.status();
  if (left->count() > 0) return absl::OkStatus();
  const Step& parent = (*path)[path->size() - 2];
  if (parent.page.count() == 1) return absl::OkStatus();
  absl::Status unlinked = UnlinkEmptyLeaf(parent, *left);
  return unlinked.ok() ? PullUpIntoRoot() : unlinked;
}

// A neighbour takes over the leaf's keys, and so its erase_version.
absl::Status BTree::UnlinkEmptyLeaf(const Step& parent, const Page& leaf) {
  PageEditor editor(transaction_);
  const int at = parent.child;
  const ObjectId heir_id = parent.page.object(at == 0 ? 1 : at - 1);
  auto heir = Page::Read(*transaction_, heir_id);
  if (!heir.ok()) return heir.status();
  absl::Status done = editor.RaiseEraseVersion(*heir, leaf.erase_version());
  // The first child's bound stays; its place goes to the second.
  if (done.ok() && at == 0) done = editor.SetObject(parent.page, 0, heir_id);
  if (done.ok()) done = editor.Remove(parent.page, at == 0 ? 1 : at, 0);
  return done.ok() ? transaction_->Free(leaf.id()) : done;
}

absl::Status BTree::PullUpIntoRoot() {
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    auto root = Page::Read(*transaction_, root_);
    if (!root.ok()) return root.status();
    if (root->leaf() || root->count() > 1) return absl::OkStatus();
    auto child = Page::Read(*transaction_, root->object(0));
    if (!child.ok()) return child.status();
    absl::Status copied = PageEditor(transaction_).Copy(*child, root_);
    if (copied.ok()) copied = transaction_->Free(child->id());
    if (!copied.ok()) return copied;
  }
  return TooDeep(root_);
}

}  // namespace kamino::engine
