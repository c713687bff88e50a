// One page of the index, read and changed through a transaction. Private to the
// index.
//
// A change declares only the ranges it touches: those are copied to the undo
// copy and sent down the chain. On a page that the transaction has allocated
// they cost nothing.
#ifndef KAMINO_ENGINE_INDEX_PAGE_H_
#define KAMINO_ENGINE_INDEX_PAGE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/index/index_format.h"
#include "engine/transaction.h"

namespace kamino::engine {

// The length of their common prefix.
size_t SharedLength(absl::string_view a, absl::string_view b);

// A view of a page's bytes. The scheme decides whether it follows later changes
// of the transaction: read the page again to see them.
class Page {
 public:
  using Slot = index_format::Slot;

  // kDataLoss: `id` is not a page, or its numbers are inconsistent.
  static absl::StatusOr<Page> Read(Reader& reader, ObjectId id);

  ObjectId id() const { return id_; }
  bool leaf() const;
  int count() const { return header().count; }
  uint64_t erase_version() const { return header().erase_version; }
  const Slot& slot(int i) const { return slots()[i]; }
  absl::string_view key(int i) const;
  ObjectId object(int i) const { return slots()[i].object; }

  // First position whose key is not less than `key`; `*equal`: whether it is
  // the same.
  int LowerBound(absl::string_view key, bool* equal) const;
  // The likely object of `key` in the leaf, found without reading keys; 0:
  // none.
  ObjectId Likely(absl::string_view key) const;
  // Inner pages: the position of the child that `key` belongs to.
  int ChildFor(absl::string_view key) const;

  // Whether Insert has room for a key of that length.
  bool HasRoom(size_t key_length) const;
  // The position at which to cut a full page into parts of about equal size.
  // kDataLoss: a sound page with so few slots is not full.
  absl::StatusOr<int> Middle() const;

 private:
  friend class PageEditor;

  Page(ObjectId id, const std::byte* bytes) : id_(id), bytes_(bytes) {}

  const index_format::PageHeader& header() const {
    return *reinterpret_cast<const index_format::PageHeader*>(bytes_);
  }
  const Slot* slots() const {
    return reinterpret_cast<const Slot*>(bytes_ +
                                         sizeof(index_format::PageHeader));
  }
  size_t FreeBytes() const;  // between slots and keys
  void PrefetchSlots(int count) const;
  // The first position in [begin, end) whose prefix, then whose key is not less
  // than the wanted one's; the page's keys share the wanted key's beginning.
  int Search(absl::string_view wanted, bool* equal) const;
  // The first slot that has a key of its own.
  int FirstKey() const { return leaf() ? 0 : 1; }
  // The common prefix of the keys in slots [begin, end); 0 for a single one,
  // which tells nothing about later keys.
  size_t SharedBy(int begin, int end) const;
  // Whether `key` begins with the page's shared prefix.
  bool Shares(absl::string_view key) const;
  // The size of the slots [begin, end) and their keys.
  size_t BytesOf(int begin, int end) const;

  ObjectId id_;
  const std::byte* bytes_;
};

// Changes pages. Errors are the transaction's, or kDataLoss: the page's slots
// contradict each other.
class PageEditor {
 public:
  explicit PageEditor(Transaction* transaction) : transaction_(transaction) {}

  absl::StatusOr<ObjectId> New(index_format::PageKind kind,
                               uint64_t erase_version);

  // There must be room. `key` must not point into the page.
  absl::Status Insert(const Page& page, int at, absl::string_view key,
                      ObjectId object);
  // Also raises the page's erase_version to at least `erase_version`.
  absl::Status Remove(const Page& page, int at, uint64_t erase_version);
  absl::Status SetObject(const Page& page, int at, ObjectId object);
  absl::Status RaiseEraseVersion(const Page& page, uint64_t version);

  // Moves the slots from `at` on to a new page; returns its id.
  absl::StatusOr<ObjectId> Split(const Page& page, int at);

  // Makes `page` an inner page whose only child is `child`.
  absl::Status MakeParentOf(const Page& page, ObjectId child);
  // Makes `to` the same as `from`.
  absl::Status Copy(const Page& from, ObjectId to);

 private:
  // Makes `image` a page like `page` with its slots [begin, end), whose keys
  // share `shared` bytes; false: they do not fit.
  static bool CopySlots(const Page& page, int begin, int end, size_t shared,
                        index_format::PageBytes* image);
  // Rewrites the page with its first `count` slots and without garbage.
  absl::Status Rewrite(const Page& page, int count, size_t shared);
  // Rewrites the page if that is needed to insert `key`, or worthwhile, and
  // reads it again.
  absl::Status MakeReady(Page* page, absl::string_view key);

  Transaction* const transaction_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_INDEX_PAGE_H_
