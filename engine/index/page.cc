#include "engine/index/page.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"

namespace kamino::engine {

using index_format::kPageBytes;
using index_format::kPageMagic;
using index_format::PageHeader;
using index_format::PageKind;
using index_format::Slot;

namespace {

using PageBytes = std::array<std::byte, kPageBytes>;

uint32_t PrefixOf(absl::string_view key) {
  uint32_t prefix = 0;
  for (size_t i = 0; i < sizeof(prefix); ++i) {
    prefix = prefix << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0);
  }
  return prefix;
}

PageHeader EmptyHeader(PageKind kind, uint64_t erase_version) {
  PageHeader header{};
  header.magic = kPageMagic;
  header.kind = static_cast<uint8_t>(kind);
  header.keys_begin = kPageBytes;
  header.erase_version = erase_version;
  return header;
}

// Appends a slot and its key to a page image.
void Append(PageBytes* bytes, absl::string_view key, ObjectId object) {
  auto* header = reinterpret_cast<PageHeader*>(bytes->data());
  auto* slots = reinterpret_cast<Slot*>(bytes->data() + sizeof(PageHeader));
  header->keys_begin -= static_cast<uint16_t>(key.size());
  std::memcpy(bytes->data() + header->keys_begin, key.data(), key.size());
  slots[header->count++] = {PrefixOf(key), header->keys_begin,
                            static_cast<uint16_t>(key.size()), object};
}

size_t SlotOffset(int i) { return sizeof(PageHeader) + i * sizeof(Slot); }

}  // namespace

absl::StatusOr<Page> Page::Read(Reader& reader, ObjectId id) {
  auto bytes = reader.Read(id);
  if (absl::IsNotFound(bytes.status())) {
    return absl::DataLossError(
        absl::StrCat("the index is damaged: no page has the id ", id));
  }
  if (!bytes.ok()) return bytes.status();
  Page page(id, bytes->data());
  const bool sound =
      bytes->size() >= kPageBytes && page.header().magic == kPageMagic &&
      (page.header().kind == static_cast<uint8_t>(PageKind::kLeaf) ||
       (page.header().kind == static_cast<uint8_t>(PageKind::kInner) &&
        page.header().count > 0)) &&
      page.header().keys_begin <= kPageBytes &&
      SlotOffset(page.header().count) <= page.header().keys_begin;
  if (sound) return page;
  return absl::DataLossError(
      absl::StrCat("the index is damaged: object ", id, " is no page"));
}

bool Page::leaf() const {
  return header().kind == static_cast<uint8_t>(PageKind::kLeaf);
}

absl::string_view Page::key(int i) const {
  const Slot& slot = slots()[i];
  // A damaged slot must not lead out of the page.
  const size_t offset = std::min<size_t>(slot.key_offset, kPageBytes);
  const size_t length = std::min<size_t>(slot.key_length, kPageBytes - offset);
  return {reinterpret_cast<const char*>(bytes_) + offset, length};
}

int Page::LowerBound(absl::string_view wanted, bool* equal) const {
  const uint32_t prefix = PrefixOf(wanted);
  int low = 0;
  int high = count();
  *equal = false;
  while (low < high) {
    const int middle = (low + high) / 2;
    const Slot& candidate = slots()[middle];
    const int order = candidate.prefix != prefix
                          ? (candidate.prefix < prefix ? -1 : 1)
                          : key(middle).compare(wanted);
    if (order == 0) {
      *equal = true;
      return middle;
    }
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

int Page::ChildFor(absl::string_view wanted) const {
  bool equal;
  const int at = LowerBound(wanted, &equal);
  // The first child's bound is empty, so that every key is over it.
  return equal ? at : std::max(at - 1, 0);
}

size_t Page::FreeBytes() const {
  return header().keys_begin - SlotOffset(count());
}

bool Page::HasRoom(size_t key_length) const {
  return FreeBytes() + header().garbage >= sizeof(Slot) + key_length;
}

int Page::Middle() const {
  size_t total = 0;
  for (int i = 0; i < count(); ++i) {
    total += sizeof(Slot) + slots()[i].key_length;
  }
  size_t left = 0;
  for (int i = 0; i < count(); ++i) {
    const size_t bytes = sizeof(Slot) + slots()[i].key_length;
    // Whichever side of this slot leaves the smaller difference.
    if (2 * left + bytes >= total) return std::clamp(i, 1, count() - 1);
    left += bytes;
  }
  return count() / 2;
}

absl::StatusOr<ObjectId> PageEditor::New(PageKind kind,
                                         uint64_t erase_version) {
  auto id = transaction_->Alloc(kPageBytes);
  if (!id.ok()) return id;
  auto bytes = transaction_->Write(*id, 0, sizeof(PageHeader));
  if (!bytes.ok()) return bytes.status();
  const PageHeader header = EmptyHeader(kind, erase_version);
  std::memcpy(*bytes, &header, sizeof(header));
  return id;
}

absl::Status PageEditor::Insert(const Page& page, int at, absl::string_view key,
                                ObjectId object) {
  PageHeader header = page.header();
  if (page.FreeBytes() < sizeof(Slot) + key.size()) {
    absl::Status rewritten = Rewrite(page, page.count());
    if (!rewritten.ok()) return rewritten;
    auto now = Page::Read(*transaction_, page.id());
    if (!now.ok()) return now.status();
    header = now->header();
  }
  header.keys_begin -= static_cast<uint16_t>(key.size());
  if (!key.empty()) {
    auto bytes = transaction_->Write(page.id(), header.keys_begin,
                                     static_cast<uint32_t>(key.size()));
    if (!bytes.ok()) return bytes.status();
    std::memcpy(*bytes, key.data(), key.size());
  }
  const size_t moved = (header.count - at) * sizeof(Slot);
  auto slots =
      transaction_->Write(page.id(), static_cast<uint32_t>(SlotOffset(at)),
                          static_cast<uint32_t>(moved + sizeof(Slot)));
  if (!slots.ok()) return slots.status();
  std::memmove(*slots + sizeof(Slot), *slots, moved);
  const Slot slot{PrefixOf(key), header.keys_begin,
                  static_cast<uint16_t>(key.size()), object};
  std::memcpy(*slots, &slot, sizeof(slot));
  auto bytes = transaction_->Write(page.id(), 0, sizeof(PageHeader));
  if (!bytes.ok()) return bytes.status();
  ++header.count;
  std::memcpy(*bytes, &header, sizeof(header));
  return absl::OkStatus();
}

absl::Status PageEditor::Remove(const Page& page, int at,
                                uint64_t erase_version) {
  PageHeader header = page.header();
  header.garbage += page.slot(at).key_length;
  header.erase_version = std::max(header.erase_version, erase_version);
  const size_t moved = (header.count - at - 1) * sizeof(Slot);
  if (moved > 0) {
    auto slots =
        transaction_->Write(page.id(), static_cast<uint32_t>(SlotOffset(at)),
                            static_cast<uint32_t>(moved + sizeof(Slot)));
    if (!slots.ok()) return slots.status();
    std::memmove(*slots, *slots + sizeof(Slot), moved);
  }
  auto bytes = transaction_->Write(page.id(), 0, sizeof(PageHeader));
  if (!bytes.ok()) return bytes.status();
  --header.count;
  std::memcpy(*bytes, &header, sizeof(header));
  return absl::OkStatus();
}

absl::Status PageEditor::SetObject(const Page& page, int at, ObjectId object) {
  auto bytes = transaction_->Write(
      page.id(), static_cast<uint32_t>(SlotOffset(at) + offsetof(Slot, object)),
      sizeof(object));
  if (!bytes.ok()) return bytes.status();
  std::memcpy(*bytes, &object, sizeof(object));
  return absl::OkStatus();
}

absl::Status PageEditor::RaiseEraseVersion(const Page& page, uint64_t version) {
  if (version <= page.erase_version()) return absl::OkStatus();
  auto bytes = transaction_->Write(
      page.id(), offsetof(PageHeader, erase_version), sizeof(version));
  if (!bytes.ok()) return bytes.status();
  std::memcpy(*bytes, &version, sizeof(version));
  return absl::OkStatus();
}

absl::Status PageEditor::Rewrite(const Page& page, int count) {
  PageBytes image{};
  const PageHeader header = EmptyHeader(
      static_cast<PageKind>(page.header().kind), page.erase_version());
  std::memcpy(image.data(), &header, sizeof(header));
  for (int i = 0; i < count; ++i) Append(&image, page.key(i), page.object(i));
  auto bytes = transaction_->Write(page.id(), 0, kPageBytes);
  if (!bytes.ok()) return bytes.status();
  std::memcpy(*bytes, image.data(), image.size());
  return absl::OkStatus();
}

absl::StatusOr<ObjectId> PageEditor::Split(const Page& page, int at) {
  PageBytes image{};
  const PageHeader header = EmptyHeader(
      static_cast<PageKind>(page.header().kind), page.erase_version());
  std::memcpy(image.data(), &header, sizeof(header));
  for (int i = at; i < page.count(); ++i) {
    Append(&image, page.key(i), page.object(i));
  }
  auto right = transaction_->Alloc(kPageBytes);
  if (!right.ok()) return right;
  auto bytes = transaction_->Write(*right, 0, kPageBytes);
  if (!bytes.ok()) return bytes.status();
  std::memcpy(*bytes, image.data(), image.size());
  if (absl::Status cut = Rewrite(page, at); !cut.ok()) return cut;
  return right;
}

absl::Status PageEditor::MakeParentOf(const Page& page, ObjectId child) {
  PageBytes image{};
  const PageHeader header = EmptyHeader(PageKind::kInner, 0);
  std::memcpy(image.data(), &header, sizeof(header));
  Append(&image, "", child);
  auto bytes = transaction_->Write(page.id(), 0, kPageBytes);
  if (!bytes.ok()) return bytes.status();
  std::memcpy(*bytes, image.data(), image.size());
  return absl::OkStatus();
}

absl::Status PageEditor::Copy(const Page& from, ObjectId to) {
  auto bytes = transaction_->Write(to, 0, kPageBytes);
  if (!bytes.ok()) return bytes.status();
  std::memcpy(*bytes, from.bytes_, kPageBytes);
  return absl::OkStatus();
}

}  // namespace kamino::engine
