#include "engine/index/key_value.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/index/index_format.h"

namespace kamino::engine {

using index_format::RecordHeader;

namespace {

absl::Span<const std::byte> AsBytes(const void* data, size_t length) {
  return {static_cast<const std::byte*>(data), length};
}

absl::Status CheckKey(absl::string_view key) {
  if (!key.empty() && key.size() <= kMaxKeyBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      key.empty() ? "the key is empty; a key has 1 to 1,024 bytes"
                  : absl::StrCat("the key has ", key.size(),
                                 " bytes; a key has 1 to 1,024 bytes"));
}

absl::StatusOr<RecordHeader> ReadHeader(
    ObjectId id, const absl::StatusOr<absl::Span<const std::byte>>& bytes) {
  if (absl::IsNotFound(bytes.status())) {
    return absl::DataLossError(
        absl::StrCat("the index is damaged: no record has the id ", id));
  }
  if (!bytes.ok()) return bytes.status();
  RecordHeader header{};
  if (bytes->size() >= sizeof(header)) {
    std::memcpy(&header, bytes->data(), sizeof(header));
  }
  if (bytes->size() < sizeof(header) ||
      header.length > bytes->size() - sizeof(header)) {
    return absl::DataLossError(
        absl::StrCat("the index is damaged: object ", id, " is no record"));
  }
  return header;
}

absl::StatusOr<KeyValueReader::Entry> EntryOf(
    ObjectId id, const absl::StatusOr<absl::Span<const std::byte>>& bytes) {
  ASSIGN_OR_RETURN(auto header, ReadHeader(id, bytes));
  return KeyValueReader::Entry{
      header.version,
      {reinterpret_cast<const char*>(bytes->data()) + sizeof(RecordHeader),
       header.length}};
}

absl::StatusOr<KeyValueReader::Entry> ReadRecord(Reader& reader, ObjectId id) {
  return EntryOf(id, reader.Read(id));
}

// A printable, cut form of the key.
std::string Named(absl::string_view key) {
  constexpr size_t kMost = 64;
  return absl::StrCat("\"", absl::CHexEscape(key.substr(0, kMost)),
                      key.size() > kMost ? "...\"" : "\"");
}

}  // namespace

absl::Status KeyValueReader::CheckMayTouch(absl::string_view key) const {
  if (scope_ == nullptr || scope_->Has(key)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("the key ", Named(key),
                   " is outside of what this identity "
                   "may touch, which is ",
                   scope_->Describe()));
}

absl::Status KeyValueReader::CheckMayScan(absl::string_view start,
                                          absl::string_view end) const {
  if (scope_ == nullptr || scope_->HasRange(start, end)) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "the range from ", Named(start), " to ",
      end.empty() ? "the end" : Named(end),
      " has keys outside of what this identity may touch, which is ",
      scope_->Describe()));
}

absl::StatusOr<KeyValueReader::Record> KeyValueReader::RecordOf(
    ObjectId id, const absl::StatusOr<absl::Span<const std::byte>>& bytes) {
  ASSIGN_OR_RETURN(const Entry entry, EntryOf(id, bytes));
  return Record{id, bytes->size() - sizeof(RecordHeader), entry};
}

absl::StatusOr<std::optional<KeyValueReader::Record>>
KeyValueReader::FindByDirectory(const Directory::Hash& hash) {
  const auto found = directory_->Find(hash);
  if (!found.has_value()) return std::nullopt;
  const auto bytes = reader_->Read(found->record);
  // A stale entry may cause a conflict; the retry reads the tree or a newer
  // entry.
  const bool stale = absl::IsNotFound(bytes.status()) ||
                     (bytes.ok() && !directory_->StillValid(*found));
  if (stale) return std::nullopt;
  return RecordOf(found->record, bytes);
}

absl::StatusOr<KeyValueReader::Record> KeyValueReader::FindRecord(
    absl::string_view key, BTree::PageIds* path) {
  Directory::Hash hash;
  const bool looks_up = directory_ != nullptr && path == nullptr;
  if (looks_up) {
    hash = directory_->HashOf(key);
    ASSIGN_OR_RETURN(auto record, FindByDirectory(hash));
    if (record.has_value()) return *std::move(record);
  }
  ASSIGN_OR_RETURN(const ObjectId id,
                   BTreeReader(reader_, root_).Find(key, path));
  const auto bytes = reader_->Read(id);
  if (looks_up && bytes.ok() && locks_->write_set().empty()) {
    directory_->Add(hash, id);
  }
  return RecordOf(id, bytes);
}

absl::StatusOr<KeyValueReader::Entry> KeyValueReader::Get(
    absl::string_view key) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckMayTouch(key));
  ASSIGN_OR_RETURN(const Record record, FindRecord(key, nullptr));
  return record.entry;
}

absl::Status KeyValueReader::Scan(
    absl::string_view start, absl::string_view end, uint64_t limit,
    absl::FunctionRef<bool(absl::string_view, const Entry&)> visit) {
  RETURN_IF_ERROR(CheckMayScan(start, end));
  uint64_t seen = 0;
  return BTreeReader(reader_, root_)
      .Scan(
          start, end,
          [&](absl::string_view key, ObjectId record) -> absl::StatusOr<bool> {
            ASSIGN_OR_RETURN(auto entry, ReadRecord(*reader_, record));
            return visit(key, entry) && (limit == 0 || ++seen < limit);
          });
}

absl::StatusOr<bool> KeyValueReader::RangeUnchangedSince(
    absl::string_view start, absl::string_view end, uint64_t version) {
  RETURN_IF_ERROR(CheckMayScan(start, end));
  bool unchanged = true;
  const auto visit_leaf = [&](const Page& leaf) -> absl::StatusOr<bool> {
    unchanged = leaf.erase_version() <= version;
    bool equal;
    for (int i = leaf.LowerBound(start, &equal);
         unchanged && i < leaf.count() && (end.empty() || leaf.key(i) < end);
         ++i) {
      // A record that a transaction in flight is changing is met here and
      // waited for: its version is already noted for the leaf.
      ASSIGN_OR_RETURN(auto entry, ReadRecord(*reader_, leaf.object(i)));
      unchanged = entry.version <= version;
    }
    return unchanged;
  };
  RETURN_IF_ERROR(BTreeReader(reader_, root_)
                      .VisitLeaves(start, end, summary_, version, visit_leaf));
  return unchanged;
}

absl::StatusOr<bool> KeyValueReader::Summarize(uint64_t objects) {
  const auto version_of = [this](ObjectId record) -> absl::StatusOr<uint64_t> {
    ASSIGN_OR_RETURN(auto entry, ReadRecord(*reader_, record));
    return entry.version;
  };
  return BTreeReader(reader_, root_).Summarize(summary_, objects, version_of);
}

void KeyValue::Raise(const BTree::PageIds& path, uint64_t version) {
  if (summary_ == nullptr) return;
  for (ObjectId page : path) summary_->Raise(page, version);
}

absl::Status KeyValue::Put(absl::string_view key, absl::string_view value,
                           uint64_t version, uint32_t min_capacity) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckMayTouch(key));
  if (value.size() > kMaxValueBytes || min_capacity > kMaxValueBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the value has ", value.size(), " bytes; at most ", kMaxValueBytes));
  }
  const uint32_t length = static_cast<uint32_t>(value.size());
  BTree::PageIds path;
  const auto old = FindRecord(key, PathIfNeeded(&path));
  if (!old.ok() && !absl::IsNotFound(old.status())) return old.status();
  ObjectId target = kNullObject;
  if (old.ok() && old->capacity >= length) target = old->id;
  if (target == kNullObject) {
    // A conflict with a writer of the leaf comes before anything is declared.
    if (old.ok() && directory_ != nullptr) {
      RETURN_IF_ERROR(CheckLeadsTo(key, old->id));
    }
    ASSIGN_OR_RETURN(auto made,
                     transaction_->Alloc(sizeof(RecordHeader) +
                                         std::max(length, min_capacity)));
    target = made;
  }
  const RecordHeader header{version, length, 0};
  // The value may be (part of) the old one, which lies behind the header.
  RETURN_IF_ERROR(
      transaction_->OverwriteBoth(target, 0, AsBytes(&header, sizeof(header)),
                                  AsBytes(value.data(), value.size())));
  if (old.ok() && target == old->id) {
    Raise(path, version);
    return absl::OkStatus();
  }
  // The key may point into a page that is rewritten.
  const std::optional<Directory::Hash> hash = HashFor(key);
  const absl::Status set =
      BTree(transaction_, root_, summary_).Set(key, target, version);
  // Even after an error: the caller may commit what it declared before.
  if (old.ok()) RemoveFromDirectory(hash);
  RETURN_IF_ERROR(set);
  if (!old.ok()) return absl::OkStatus();
  return transaction_->Free(old->id);
}

absl::Status KeyValue::Patch(absl::string_view key, uint64_t offset,
                             absl::string_view data, uint64_t version) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckMayTouch(key));
  BTree::PageIds path;
  ASSIGN_OR_RETURN(const Record record, FindRecord(key, PathIfNeeded(&path)));
  const uint64_t size = record.entry.value.size();
  if (offset > size || data.size() > size - offset) {
    return absl::OutOfRangeError(
        absl::StrCat("bytes [", offset, ", ", offset, " + ", data.size(),
                     ") are not within the ", size, " bytes of the value"));
  }
  if (!data.empty()) {
    // They may be (part of) the value.
    RETURN_IF_ERROR(transaction_->OverwriteBoth(
        record.id, static_cast<uint32_t>(sizeof(RecordHeader) + offset), {},
        AsBytes(data.data(), data.size())));
  }
  RETURN_IF_ERROR(transaction_->Overwrite(
      record.id, offsetof(RecordHeader, version),
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&version),
                          sizeof(version))));
  Raise(path, version);
  return absl::OkStatus();
}

absl::Status KeyValue::Delete(absl::string_view key, uint64_t version) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckMayTouch(key));
  BTree tree(transaction_, root_, summary_);
  ASSIGN_OR_RETURN(auto record, tree.Find(key));
  const std::optional<Directory::Hash> hash = HashFor(key);
  const absl::Status erased = tree.Erase(key, version);
  RemoveFromDirectory(hash);
  RETURN_IF_ERROR(erased);
  return transaction_->Free(record);
}

std::optional<Directory::Hash> KeyValue::HashFor(absl::string_view key) const {
  if (directory_ == nullptr) return std::nullopt;
  return directory_->HashOf(key);
}

absl::Status KeyValue::CheckLeadsTo(absl::string_view key, ObjectId record) {
  const auto there = BTreeReader(reader_, root_).Find(key);
  if (there.ok() && *there == record) return absl::OkStatus();
  if (!there.ok() && !absl::IsNotFound(there.status())) return there.status();
  return absl::DataLossError(
      absl::StrCat("the index is damaged: record ", record, " has the key ",
                   Named(key), ", but the tree does not lead there"));
}

void KeyValue::RemoveFromDirectory(const std::optional<Directory::Hash>& hash) {
  if (hash.has_value()) directory_->Remove(*hash);
}

absl::Status KeyValue::AddExpected(const Change& change,
                                   std::vector<ObjectId>* objects) {
  RETURN_IF_ERROR(CheckKey(change.key));
  RETURN_IF_ERROR(CheckMayTouch(change.key));
  BTree::PageIds path;
  const auto old = BTreeReader(transaction_, root_).Find(change.key, &path);
  if (absl::IsNotFound(old.status())) {
    // A new entry.
    if (change.kind == Change::Kind::kPut) objects->push_back(path.back());
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(old.status());
  ASSIGN_OR_RETURN(const auto bytes, transaction_->Read(*old));
  const bool stays =
      change.kind == Change::Kind::kPatch ||
      (change.kind == Change::Kind::kPut &&
       bytes.size() >= sizeof(RecordHeader) + change.value_bytes);
  objects->push_back(stays ? *old : path.back());
  return absl::OkStatus();
}

absl::Status KeyValue::Expect(absl::Span<const Change> changes) {
  if (!transaction_->gathers_copies()) return absl::OkStatus();
  std::vector<ObjectId> objects;
  for (const Change& change : changes) {
    const absl::Status added = AddExpected(change, &objects);
    if (absl::IsAborted(added)) return added;
  }
  return transaction_->ExpectWrites(objects);
}

absl::Status KeyValue::ForgetBefore(uint64_t version) {
  bool empty = true;
  RETURN_IF_ERROR(BTreeReader(transaction_, root_)
                      .Scan("", "", [&empty](absl::string_view, ObjectId) {
                        empty = false;
                        return absl::StatusOr<bool>(false);
                      }));
  if (!empty) return absl::FailedPreconditionError("there are objects");
  return BTree(transaction_, root_, summary_).RaiseEraseVersion(version);
}

}  // namespace kamino::engine
