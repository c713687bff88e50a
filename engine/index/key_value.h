// Keys to objects: a B+tree whose entries are records {version, key, value},
// written over the transaction interface. Keys are 1 to 1,024 bytes, values at
// most 1 MiB, keys in the order of unsigned bytes. docs/formats/index.md.
//
// Deterministic: the same calls on the same state make the same declarations
// with every scheme below.
//
// Errors of the transaction (kAborted, kResourceExhausted, ...) pass unchanged.
//
// A user with limited rights gets a KeyValue with a scope: a call for another
// key, or for a range with other keys, then returns kPermissionDenied before it
// reads anything.
#ifndef KAMINO_ENGINE_INDEX_KEY_VALUE_H_
#define KAMINO_ENGINE_INDEX_KEY_VALUE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/key_scope.h"
#include "engine/index/btree.h"
#include "engine/index/directory.h"
#include "engine/index/version_summary.h"
#include "engine/transaction.h"

namespace kamino::engine {

inline constexpr size_t kMaxKeyBytes = 1024;
inline constexpr size_t kMaxValueBytes = 1u << 20;

class KeyValueReader {
 public:
  // `value` points into the heap; valid until the reader's transaction ends
  // or writes that key.
  struct Entry {
    uint64_t version = 0;
    absl::string_view value;
  };

  // `root` is a BTree::Create's. The reader must outlive this, as must
  // `summary` and `scope`, which may be null.
  KeyValueReader(Reader* reader, ObjectId root,
                 VersionSummary* summary = nullptr,
                 const KeyScope* scope = nullptr)
      : reader_(reader), root_(root), summary_(summary), scope_(scope) {}

  // kNotFound; kInvalidArgument: key empty or over kMaxKeyBytes.
  absl::StatusOr<Entry> Get(absl::string_view key);

  // Visits the keys of [start, end) in ascending order, to the last if `end` is
  // empty, at most `limit` (0: all), until `visit` returns false. `visit` must
  // not write.
  absl::Status Scan(
      absl::string_view start, absl::string_view end, uint64_t limit,
      absl::FunctionRef<bool(absl::string_view key, const Entry& entry)> visit);

  // Whether nothing in [start, end) was put, patched or deleted by a version
  // over `version`. May return false if a neighbour of the range was deleted.
  // Reads O(log n) objects as far as the summary covers them; without a
  // summary, all in the range.
  absl::StatusOr<bool> RangeUnchangedSince(absl::string_view start,
                                           absl::string_view end,
                                           uint64_t version);

  // Adds unknown parts of the tree to the summary, which must exist. Examines
  // at most about `objects`; false: there is more to do. Not within a
  // transaction. An error is the tree's or the reader's.
  absl::StatusOr<bool> Summarize(uint64_t objects);

 protected:
  absl::Status CheckMayTouch(absl::string_view key) const;

  // A key's record, read: its lock is held, as far as the reader locks.
  struct Record {
    ObjectId id = kNullObject;
    size_t capacity = 0;  // of the value, in bytes
    Entry entry;
  };
  // kNotFound: no such key. If `path` is not null, the look-up goes through the
  // tree, and `path` receives the pages that lead there.
  absl::StatusOr<Record> FindRecord(absl::string_view key,
                                    BTree::PageIds* path);
  // `bytes` is the result of Read.
  static absl::StatusOr<Record> RecordOf(
      ObjectId id, const absl::StatusOr<absl::Span<const std::byte>>& bytes);

  Reader* const reader_;
  const ObjectId root_;
  VersionSummary* const summary_;
  // If not null, look-ups try it first. `locks_` is this reader's transaction,
  // which holds its locks until it ends.
  Directory* directory_ = nullptr;
  const Transaction* locks_ = nullptr;

 private:
  absl::Status CheckMayScan(absl::string_view start,
                            absl::string_view end) const;
  // Looks the key up in the directory. Returns nothing if the directory lacks
  // it.
  absl::StatusOr<std::optional<Record>> FindByDirectory(
      const Directory::Hash& hash);

  const KeyScope* const scope_;  // null: all keys
};

class KeyValue : public KeyValueReader {
 public:
  // `summary` receives every change; the code that ends the transaction tells
  // it how (VersionSummary::Keep, RollBack).
  KeyValue(Transaction* transaction, ObjectId root,
           VersionSummary* summary = nullptr, const KeyScope* scope = nullptr)
      : KeyValueReader(transaction, root, summary, scope),
        transaction_(transaction) {}

  // Get, Put and Patch look keys up in `directory`, which may be null, before
  // the tree, and add those that they find in the tree; Put and Patch only
  // without a summary. Everything that changes the tree must use the same
  // directory. It must outlive this.
  void UseDirectory(Directory* directory) {
    directory_ = directory;
    locks_ = transaction_;
  }

  // Writes the whole value, in place if it fits. A new record has room for a
  // value of `min_capacity` bytes. `value` may point into the heap.
  // kInvalidArgument: key or value of a wrong size.
  absl::Status Put(absl::string_view key, absl::string_view value,
                   uint64_t version, uint32_t min_capacity = 0);

  // Overwrites [offset, offset + data.size()) in place. kNotFound;
  // kOutOfRange: not within the value.
  absl::Status Patch(absl::string_view key, uint64_t offset,
                     absl::string_view data, uint64_t version);

  // kNotFound.
  absl::Status Delete(absl::string_view key, uint64_t version);

  // A Put, a Patch or a Delete that is about to be called.
  struct Change {
    enum class Kind { kPut, kPatch, kDelete };
    Kind kind = Kind::kPut;
    absl::string_view key;
    size_t value_bytes = 0;  // of Put's value
  };
  // Announces to the transaction the objects that the changes will write, as
  // far as known (Transaction::ExpectWrites). Skips changes that will fail by
  // themselves. Errors: as Put's.
  absl::Status Expect(absl::Span<const Change> changes);

  // As if keys had been deleted everywhere by that version; only while there
  // are none (kFailedPrecondition). So no range counts as unchanged since a
  // lower version.
  absl::Status ForgetBefore(uint64_t version);

 private:
  // The key's hash; nothing without a directory.
  std::optional<Directory::Hash> HashFor(absl::string_view key) const;
  // kDataLoss: the tree does not lead from the key to that record.
  absl::Status CheckLeadsTo(absl::string_view key, ObjectId record);
  // The key leads to another record, or to none: its leaf is locked.
  void RemoveFromDirectory(const std::optional<Directory::Hash>& hash);
  // Where FindRecord puts the pages that lead to the record, if they are
  // needed.
  BTree::PageIds* PathIfNeeded(BTree::PageIds* path) const {
    return summary_ == nullptr ? nullptr : path;
  }
  // Adds the objects that `change` will write to.
  absl::Status AddExpected(const Change& change,
                           std::vector<ObjectId>* objects);
  // The pages of `path` lead to a record that now has that version.
  void Raise(const BTree::PageIds& path, uint64_t version);

  Transaction* const transaction_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_INDEX_KEY_VALUE_H_
