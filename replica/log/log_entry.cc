#include "replica/log/log_entry.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/kamino/checksum.h"
#include "glog/logging.h"

namespace kamino::replica {

using engine::Intent;
using engine::IntentKind;
using log_entry_format::EntryHeader;
using log_entry_format::IntentRecord;
using log_entry_format::kEntryMagic;
using log_entry_format::kEntryVersion;
using log_entry_format::kOfSession;
using log_entry_format::kPartAlignment;
using log_entry_format::MutationHeader;

namespace {

constexpr size_t kChecksumBytes = sizeof(EntryHeader::checksum);
constexpr size_t kIdBytes = sizeof(uint64_t);

uint64_t ChecksumOf(const char* entry, size_t length) {
  return engine::Checksum(
      {reinterpret_cast<const std::byte*>(entry + kChecksumBytes),
       length - kChecksumBytes});
}

uint64_t Padded(uint64_t bytes) {
  return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("a log entry ", what));
}

// Takes pieces from the remaining bytes, never beyond.
class Cursor {
 public:
  explicit Cursor(absl::string_view bytes) : left_(bytes) {}

  size_t left() const { return left_.size(); }

  bool Take(uint64_t length, absl::string_view* piece) {
    if (length > left_.size()) return false;
    *piece = left_.substr(0, length);
    left_.remove_prefix(length);
    return true;
  }

  // May be unaligned; links do not align messages.
  template <typename T>
  bool TakeCopy(T* value) {
    absl::string_view piece;
    if (!Take(sizeof(T), &piece)) return false;
    std::memcpy(value, piece.data(), sizeof(T));
    return true;
  }

 private:
  absl::string_view left_;
};

bool TakeMutation(Cursor* cursor, MutationView* mutation, uint16_t* flags) {
  MutationHeader header;
  if (!cursor->TakeCopy(&header)) return false;
  *flags = header.flags;
  mutation->in_session = (header.flags & kOfSession) != 0;
  mutation->client_id = header.client_id;
  mutation->number = header.number;
  mutation->since = header.since;
  // Before anything of that size is allocated.
  if (header.dropped_count > cursor->left() / kIdBytes) return false;
  mutation->dropped_clients.resize(header.dropped_count);
  for (uint64_t& id : mutation->dropped_clients) {
    if (!cursor->TakeCopy(&id)) return false;
  }
  const uint64_t text =
      uint64_t{header.name_bytes} + uint64_t{header.argument_bytes};
  absl::string_view padding;
  return cursor->Take(header.name_bytes, &mutation->function) &&
         cursor->Take(header.argument_bytes, &mutation->arguments) &&
         cursor->Take(Padded(text) - text, &padding);
}

// Size of an intent's after-image.
uint64_t ImageBytesOf(const IntentRecord& record) {
  switch (static_cast<IntentKind>(record.kind)) {
    case IntentKind::kWrite:
      return record.length;
    case IntentKind::kAlloc:
      return record.filled;
    case IntentKind::kFree:
      return 0;
  }
  return 0;
}

uint64_t BytesOf(const Mutation& mutation) {
  return sizeof(MutationHeader) + mutation.dropped_clients.size() * kIdBytes +
         Padded(mutation.function.size() + mutation.arguments.size());
}

char* Put(char* to, const void* from, size_t length) {
  if (length > 0) std::memcpy(to, from, length);
  return to + length;
}

// Writes the padding after a part of that size.
char* PutPadding(char* to, uint64_t bytes) {
  constexpr char kZeros[kPartAlignment] = {};
  return Put(to, kZeros, Padded(bytes) - bytes);
}

char* PutMutation(char* to, const Mutation& mutation) {
  CHECK_LE(mutation.function.size(), std::numeric_limits<uint16_t>::max());
  MutationHeader header = {};
  header.client_id = mutation.client_id;
  header.number = mutation.number;
  header.since = mutation.since;
  header.argument_bytes = static_cast<uint32_t>(mutation.arguments.size());
  header.dropped_count = static_cast<uint32_t>(mutation.dropped_clients.size());
  header.name_bytes = static_cast<uint16_t>(mutation.function.size());
  header.flags = mutation.in_session ? kOfSession : 0;
  to = Put(to, &header, sizeof(header));
  to = Put(to, mutation.dropped_clients.data(),
           mutation.dropped_clients.size() * kIdBytes);
  to = Put(to, mutation.function.data(), mutation.function.size());
  to = Put(to, mutation.arguments.data(), mutation.arguments.size());
  return PutPadding(to, mutation.function.size() + mutation.arguments.size());
}

}  // namespace

Mutation MutationView::Copy() const {
  return {.function = std::string(function),
          .arguments = std::string(arguments),
          .client_id = client_id,
          .number = number,
          .since = since,
          .in_session = in_session,
          .dropped_clients = dropped_clients};
}

// --- Reading.

absl::StatusOr<LogEntry> LogEntry::Check(absl::string_view bytes) {
  EntryHeader header;
  if (!Cursor(bytes).TakeCopy(&header)) return Damaged("is cut off");
  if (header.magic != kEntryMagic) return Damaged("has a wrong magic number");
  if (header.version != kEntryVersion) {
    return Damaged(absl::StrCat("has format version ", header.version,
                                "; this program reads version ",
                                kEntryVersion));
  }
  if (header.length != bytes.size()) {
    return Damaged(absl::StrCat("says it has ", header.length, " bytes, of ",
                                bytes.size()));
  }
  if (header.checksum != ChecksumOf(bytes.data(), bytes.size())) {
    return Damaged("has a wrong checksum");
  }
  const LogEntry entry(bytes, header);
  RETURN_IF_ERROR(entry.CheckLengths());
  RETURN_IF_ERROR(entry.VisitMutations(
      [](const MutationView&) { return absl::OkStatus(); }));
  RETURN_IF_ERROR(entry.CheckImages());
  return entry;
}

absl::StatusOr<LogEntry> LogEntry::Check(absl::string_view bytes,
                                         ChainMode mode) {
  ASSIGN_OR_RETURN(const LogEntry entry, Check(bytes));
  const bool there = entry.header_.after_image_bytes > 0;
  if (there == CarriesImages(mode)) return entry;
  if (there) return Damaged("carries after-images, but the chain has none");
  ASSIGN_OR_RETURN(const uint64_t due, entry.ImagesDue());
  if (due > 0) return Damaged("lacks its after-images");
  return entry;
}

LogEntry LogEntry::Checked(absl::string_view bytes, uint64_t first,
                           uint64_t last) {
  EntryHeader header;
  CHECK(Cursor(bytes).TakeCopy(&header));
  header.first = first;
  const uint64_t numbers = last - first + 1;
  header.count = static_cast<uint32_t>(
      header.skipped == 0 ? numbers
                          : std::min<uint64_t>(header.count, numbers));
  header.skipped = numbers - header.count;
  return LogEntry(bytes, header);
}

absl::Status LogEntry::CheckLengths() const {
  if (header_.header_bytes != sizeof(EntryHeader) || header_.flags != 0) {
    return Damaged("has a header of an unknown kind");
  }
  if (header_.count == 0 || header_.first == 0 ||
      header_.first > std::numeric_limits<uint64_t>::max() - header_.count) {
    return Damaged(absl::StrCat("has ", header_.count,
                                " mutations from number ", header_.first));
  }
  const uint64_t most =
      std::numeric_limits<uint64_t>::max() - header_.count - header_.first;
  if (header_.skipped > most || (header_.skipped > 0 && header_.count > 1)) {
    return Damaged(absl::StrCat("skips ", header_.skipped, " numbers"));
  }
  const uint64_t parts = uint64_t{header_.mutation_bytes} +
                         uint64_t{header_.intent_count} * sizeof(IntentRecord) +
                         uint64_t{header_.after_image_bytes};
  if (parts != bytes_.size() - sizeof(EntryHeader)) {
    return Damaged("has parts that do not add up to its length");
  }
  return absl::OkStatus();
}

absl::Status LogEntry::VisitMutations(
    absl::FunctionRef<absl::Status(const MutationView&)> visit) const {
  Cursor cursor(bytes_.substr(sizeof(EntryHeader), header_.mutation_bytes));
  for (uint32_t i = 0; i < header_.count; ++i) {
    MutationView mutation;
    uint16_t flags = 0;
    if (!TakeMutation(&cursor, &mutation, &flags)) {
      return Damaged(absl::StrCat("of ", header_.count,
                                  " mutations ends within mutation ", i));
    }
    if ((flags & ~kOfSession) != 0) {
      return Damaged(absl::StrCat("has a mutation of unknown flags ", flags));
    }
    RETURN_IF_ERROR(visit(mutation));
  }
  if (cursor.left() != 0) return Damaged("has bytes behind its mutations");
  return absl::OkStatus();
}

absl::StatusOr<std::vector<MutationView>> LogEntry::Mutations() const {
  std::vector<MutationView> mutations;
  RETURN_IF_ERROR(VisitMutations([&](const MutationView& mutation) {
    mutations.push_back(mutation);
    return absl::OkStatus();
  }));
  return mutations;
}

template <typename Visit>
absl::Status LogEntry::VisitIntents(const Visit& visit) const {
  const size_t begin = sizeof(EntryHeader) + size_t{header_.mutation_bytes};
  if (begin > bytes_.size()) return Damaged("is shorter than its mutations");
  const absl::string_view records = bytes_.substr(begin);
  if (header_.intent_count > records.size() / sizeof(IntentRecord)) {
    return Damaged("is shorter than its write set");
  }
  for (uint32_t i = 0; i < header_.intent_count; ++i) {
    IntentRecord record;
    std::memcpy(&record, records.data() + i * sizeof(record), sizeof(record));
    if (record.kind < static_cast<uint32_t>(IntentKind::kWrite) ||
        record.kind > static_cast<uint32_t>(IntentKind::kFree)) {
      return Damaged(absl::StrCat("has an intent of kind ", record.kind));
    }
    if (record.filled > record.length) {
      return Damaged(
          absl::StrCat("fills ", record.filled, " bytes of ", record.length));
    }
    visit(record);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> LogEntry::ImagesDue() const {
  uint64_t due = 0;
  RETURN_IF_ERROR(VisitIntents(
      [&due](const IntentRecord& record) { due += ImageBytesOf(record); }));
  return due;
}

absl::Status LogEntry::CheckImages() const {
  ASSIGN_OR_RETURN(const uint64_t due, ImagesDue());
  // Other modes have none.
  if (header_.after_image_bytes == 0 ||
      header_.after_image_bytes == Padded(due)) {
    return absl::OkStatus();
  }
  return Damaged(absl::StrCat("has ", header_.after_image_bytes,
                              " bytes of after-images, where its write set "
                              "leaves ",
                              due));
}

absl::Status LogEntry::VisitWrittenObjects(
    absl::FunctionRef<void(engine::ObjectId)> visit) const {
  return VisitIntents(
      [&visit](const IntentRecord& record) { visit(record.object); });
}

bool LogEntry::IsWithin(uint64_t heap_bytes) const {
  bool within = true;
  const absl::Status visited =
      VisitIntents([heap_bytes, &within](const IntentRecord& record) {
        const uint64_t bytes = uint64_t{record.offset} + record.length;
        within = within && record.object != 0 && record.object <= heap_bytes &&
                 bytes <= heap_bytes - record.object;
      });
  return visited.ok() && within;
}

absl::StatusOr<engine::WriteSet> LogEntry::WriteSet() const {
  ASSIGN_OR_RETURN(Declared declared, ReadDeclared());
  return std::move(declared.write_set);
}

absl::StatusOr<LogEntry::Declared> LogEntry::ReadDeclared() const {
  Declared declared;
  // At most as many as there are bytes for.
  declared.write_set.reserve(std::min<size_t>(
      header_.intent_count, bytes_.size() / sizeof(IntentRecord)));
  RETURN_IF_ERROR(VisitIntents([&](const IntentRecord& record) {
    const auto kind = static_cast<IntentKind>(record.kind);
    declared.write_set.push_back(
        {record.object, record.offset, record.length, kind});
    if (kind == IntentKind::kAlloc) declared.filled.push_back(record.filled);
  }));
  return declared;
}

absl::Status LogEntry::VisitImages(
    absl::FunctionRef<absl::Status(const Intent&, absl::string_view)> visit)
    const {
  const uint64_t begin = sizeof(EntryHeader) + header_.mutation_bytes +
                         uint64_t{header_.intent_count} * sizeof(IntentRecord);
  Cursor images(begin > bytes_.size() ? absl::string_view()
                                      : bytes_.substr(begin));
  absl::Status visited;
  RETURN_IF_ERROR(VisitIntents([&](const IntentRecord& record) {
    if (!visited.ok()) return;
    absl::string_view image;
    if (!images.Take(ImageBytesOf(record), &image)) {
      visited = Damaged("is shorter than its after-images");
      return;
    }
    visited = visit({record.object, record.offset, record.length,
                     static_cast<IntentKind>(record.kind)},
                    image);
  }));
  return visited;
}

absl::StatusOr<uint64_t> LogEntry::HashImages() const {
  absl::flat_hash_set<engine::ObjectId> freed;
  RETURN_IF_ERROR(VisitIntents([&freed](const IntentRecord& record) {
    if (static_cast<IntentKind>(record.kind) == IntentKind::kFree) {
      freed.insert(record.object);
    }
  }));
  uint64_t hash = 0;
  RETURN_IF_ERROR(
      VisitImages([&](const Intent& intent, absl::string_view image) {
        if (freed.contains(intent.object)) return absl::OkStatus();
        hash = engine::FoldHash(
            hash,
            engine::Checksum({reinterpret_cast<const std::byte*>(image.data()),
                              image.size()}));
        return absl::OkStatus();
      }));
  return hash;
}

// --- Making.

uint64_t LogEntryDraft::bytes() const {
  uint64_t bytes =
      sizeof(EntryHeader) + write_set->size() * sizeof(IntentRecord);
  for (const Mutation* mutation : mutations) bytes += BytesOf(*mutation);
  return bytes + Padded(ImageBytes());
}

uint32_t LogEntryDraft::FilledOf(size_t n) const {
  return image != nullptr && n < image->filled.size() ? image->filled[n] : 0;
}

uint64_t LogEntryDraft::ImageBytes() const {
  if (!image_of.has_value()) return 0;
  uint64_t bytes = 0;
  size_t allocations = 0;
  for (const Intent& intent : *write_set) {
    if (intent.kind == IntentKind::kWrite) bytes += intent.length;
    if (intent.kind == IntentKind::kAlloc) bytes += FilledOf(allocations++);
  }
  return bytes;
}

char* LogEntryDraft::PutImages(char* to) const {
  if (!image_of.has_value()) return to;
  const char* const begin = to;
  size_t allocations = 0;
  for (Intent intent : *write_set) {
    if (intent.kind == IntentKind::kFree) continue;
    if (intent.kind == IntentKind::kAlloc) {
      intent.length = FilledOf(allocations++);
    }
    const absl::string_view bytes = (*image_of)(intent);
    CHECK_EQ(bytes.size(), intent.length) << "of object " << intent.object;
    to = Put(to, bytes.data(), bytes.size());
  }
  return PutPadding(to, static_cast<uint64_t>(to - begin));
}

void LogEntryDraft::WriteTo(char* to) const {
  const uint64_t length = bytes();
  CHECK_LE(length, std::numeric_limits<uint32_t>::max());
  char* at = to + sizeof(EntryHeader);
  for (const Mutation* mutation : mutations) at = PutMutation(at, *mutation);
  EntryHeader header = {};
  header.mutation_bytes = static_cast<uint32_t>(at - to - sizeof(EntryHeader));
  size_t allocations = 0;
  for (const Intent& intent : *write_set) {
    IntentRecord record{intent.object, intent.offset, intent.length,
                        static_cast<uint32_t>(intent.kind), 0};
    if (intent.kind == IntentKind::kAlloc) {
      record.filled = FilledOf(allocations++);
    }
    at = Put(at, &record, sizeof(record));
  }
  const char* const images = at;
  at = PutImages(at);
  header.after_image_bytes = static_cast<uint32_t>(at - images);
  CHECK_EQ(static_cast<uint64_t>(at - to), length);
  header.magic = kEntryMagic;
  header.version = kEntryVersion;
  header.header_bytes = sizeof(EntryHeader);
  header.length = static_cast<uint32_t>(length);
  header.count = count();
  header.skipped = skipped;
  header.first = first;
  header.chain_id = chain_id;
  header.view_id = view_id;
  header.image_hash = image != nullptr ? image->hash : 0;
  header.intent_count = static_cast<uint32_t>(write_set->size());
  std::memcpy(to, &header, sizeof(header));
  // In place: its bytes are in the cache.
  header.checksum = ChecksumOf(to, length);
  std::memcpy(to, &header.checksum, kChecksumBytes);
}

std::string LogEntryDraft::ToString() const {
  std::string entry(bytes(), '\0');
  WriteTo(entry.data());
  return entry;
}

}  // namespace kamino::replica
