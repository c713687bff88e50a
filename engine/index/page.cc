#include "engine/index/page.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/prefetch.h"

namespace kamino::engine {

using index_format::kPageBytes;
using index_format::kPageMagic;
using index_format::PageBytes;
using index_format::PageHeader;
using index_format::PageKind;
using index_format::Slot;

namespace {

uint32_t PrefixOf(absl::string_view key, size_t shared) {
  uint32_t prefix = 0;
  for (size_t i = shared; i < shared + sizeof(prefix); ++i) {
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
  slots[header->count++] = {PrefixOf(key, header->shared), header->keys_begin,
                            static_cast<uint16_t>(key.size()), object};
}

size_t SlotOffset(int i) { return sizeof(PageHeader) + i * sizeof(Slot); }

absl::Status Damaged(const Page& page) {
  return absl::DataLossError(absl::StrCat("the index is damaged: page ",
                                          page.id(),
                                          " has keys that are not there"));
}

// At this many slots, and at each doubling, a page checks whether its keys
// share more than its header says.
constexpr int kLeastToPack = 8;

// A search of fewer slots reads only a few lines anyway.
constexpr int kLeastToPrefetch = 16;

}  // namespace

size_t SharedLength(absl::string_view a, absl::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  return std::mismatch(a.begin(), a.begin() + most, b.begin()).first -
         a.begin();
}

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
      SlotOffset(page.header().count) <= page.header().keys_begin &&
      page.header().garbage <= kPageBytes - page.header().keys_begin;
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

// Prefetches the slots that the first three steps of a search can read:
// otherwise each step would wait for memory by itself.
void Page::PrefetchSlots(int count) const {
  for (int i = 1; i < 8; ++i) PrefetchToRead(slots() + i * count / 8);
}

int Page::Search(absl::string_view wanted, bool* equal) const {
  const uint32_t prefix = PrefixOf(wanted, header().shared);
  int low = 0;
  int high = count();
  if (high > kLeastToPrefetch) PrefetchSlots(high);
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

ObjectId Page::Likely(absl::string_view wanted) const {
  const uint32_t prefix = PrefixOf(wanted, header().shared);
  if (count() > kLeastToPrefetch) PrefetchSlots(count());
  const Slot* const end = slots() + count();
  const Slot* const found = std::lower_bound(
      slots(), end, prefix,
      [](const Slot& slot, uint32_t value) { return slot.prefix < value; });
  return found != end && found->prefix == prefix ? found->object : kNullObject;
}

int Page::LowerBound(absl::string_view wanted, bool* equal) const {
  const int found = Search(wanted, equal);
  // An exact match shares the other keys' prefix: most look-ups in a leaf need
  // not read a second key for that.
  const size_t shared = header().shared;
  if (*equal || shared == 0 || count() == FirstKey()) return found;
  const int order =
      wanted.substr(0, shared).compare(key(count() - 1).substr(0, shared));
  if (order == 0) return found;
  return order < 0 ? FirstKey() : count();
}

size_t Page::SharedBy(int begin, int end) const {
  begin = std::max(begin, FirstKey());
  if (end - begin < 2) return 0;
  return SharedLength(key(begin), key(end - 1));
}

bool Page::Shares(absl::string_view wanted) const {
  const size_t shared = header().shared;
  return shared == 0 || (count() > FirstKey() &&
                         SharedLength(wanted, key(count() - 1)) >= shared);
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

size_t Page::BytesOf(int begin, int end) const {
  size_t bytes = 0;
  for (int i = begin; i < end; ++i) bytes += sizeof(Slot) + key(i).size();
  return bytes;
}

absl::StatusOr<int> Page::Middle() const {
  // Each part of a full inner page gets two children, so that the tree's depth
  // is logarithmic regardless of the lengths of keys.
  const int least = leaf() ? 1 : 2;
  if (count() < 2 * least) return Damaged(*this);
  const size_t total = BytesOf(0, count());
  size_t left = 0;
  for (int i = 0; i < count(); ++i) {
    const size_t bytes = BytesOf(i, i + 1);
    // Takes the side of this slot that leaves the smaller difference.
    if (2 * left + bytes >= total) {
      return std::clamp(i, least, count() - least);
    }
    left += bytes;
  }
  return count() / 2;
}

bool PageEditor::CopySlots(const Page& page, int begin, int end, size_t shared,
                           PageBytes* image) {
  if (page.BytesOf(begin, end) > kPageBytes - sizeof(PageHeader)) return false;
  PageHeader header = EmptyHeader(static_cast<PageKind>(page.header().kind),
                                  page.erase_version());
  header.shared = static_cast<uint16_t>(shared);
  std::memcpy(image->data(), &header, sizeof(header));
  for (int i = begin; i < end; ++i) {
    // The lower bound of an inner page's first child is in the parent page.
    const bool bound = page.leaf() || i > begin;
    Append(image, bound ? page.key(i) : "", page.object(i));
  }
  return true;
}

absl::StatusOr<ObjectId> PageEditor::New(PageKind kind,
                                         uint64_t erase_version) {
  auto id = transaction_->Alloc(kPageBytes);
  if (!id.ok()) return id;
  ASSIGN_OR_RETURN(auto bytes, transaction_->Write(*id, 0, sizeof(PageHeader)));
  const PageHeader header = EmptyHeader(kind, erase_version);
  std::memcpy(bytes, &header, sizeof(header));
  return id;
}

absl::Status PageEditor::MakeReady(Page* page, absl::string_view key) {
  const size_t needed = sizeof(Slot) + key.size();
  const int count = page->count();
  const size_t now = page->header().shared;
  size_t shared = now;
  if (!page->Shares(key)) {
    shared =
        count > page->FirstKey() ? SharedLength(key, page->key(count - 1)) : 0;
    shared = std::min(shared, now);
  } else if (count >= kLeastToPack && (count & (count - 1)) == 0) {
    shared = std::min(page->SharedBy(0, count),
                      SharedLength(key, page->key(count - 1)));
  }
  if (shared == now && page->FreeBytes() >= needed) return absl::OkStatus();
  RETURN_IF_ERROR(Rewrite(*page, count, shared));
  ASSIGN_OR_RETURN(auto again, Page::Read(*transaction_, page->id()));
  *page = again;
  // The free bytes that the header claimed.
  return page->FreeBytes() < needed ? Damaged(*page) : absl::OkStatus();
}

absl::Status PageEditor::Insert(const Page& before, int at,
                                absl::string_view key, ObjectId object) {
  Page page = before;
  RETURN_IF_ERROR(MakeReady(&page, key));
  PageHeader header = page.header();
  header.keys_begin -= static_cast<uint16_t>(key.size());
  const size_t moved = (header.count - at) * sizeof(Slot);
  const auto key_bytes = static_cast<uint32_t>(key.size());
  const auto slot_bytes = static_cast<uint32_t>(moved + sizeof(Slot));
  const auto slots_begin = static_cast<uint32_t>(SlotOffset(at));
  const Intent writes[] = {{page.id(), header.keys_begin, key_bytes},
                           {page.id(), slots_begin, slot_bytes},
                           {page.id(), 0, sizeof(PageHeader)}};
  RETURN_IF_ERROR(transaction_->ForeseeWrites(
      absl::MakeConstSpan(writes).subspan(key.empty() ? 1 : 0)));
  if (!key.empty()) {
    ASSIGN_OR_RETURN(auto bytes, transaction_->Write(
                                     page.id(), header.keys_begin, key_bytes));
    std::memcpy(bytes, key.data(), key.size());
  }
  ASSIGN_OR_RETURN(auto slots,
                   transaction_->Write(page.id(), slots_begin, slot_bytes));
  std::memmove(slots + sizeof(Slot), slots, moved);
  const Slot slot{PrefixOf(key, header.shared), header.keys_begin,
                  static_cast<uint16_t>(key.size()), object};
  std::memcpy(slots, &slot, sizeof(slot));
  ASSIGN_OR_RETURN(auto bytes,
                   transaction_->Write(page.id(), 0, sizeof(PageHeader)));
  ++header.count;
  std::memcpy(bytes, &header, sizeof(header));
  return absl::OkStatus();
}

absl::Status PageEditor::Remove(const Page& page, int at,
                                uint64_t erase_version) {
  PageHeader header = page.header();
  const size_t garbage = header.garbage + page.key(at).size();
  if (garbage > kPageBytes - header.keys_begin) return Damaged(page);
  header.garbage = static_cast<uint16_t>(garbage);
  header.erase_version = std::max(header.erase_version, erase_version);
  const size_t moved = (header.count - at - 1) * sizeof(Slot);
  const auto slot_bytes = static_cast<uint32_t>(moved + sizeof(Slot));
  const auto slots_begin = static_cast<uint32_t>(SlotOffset(at));
  const Intent writes[] = {{page.id(), slots_begin, slot_bytes},
                           {page.id(), 0, sizeof(PageHeader)}};
  RETURN_IF_ERROR(transaction_->ForeseeWrites(
      absl::MakeConstSpan(writes).subspan(moved > 0 ? 0 : 1)));
  if (moved > 0) {
    ASSIGN_OR_RETURN(auto slots,
                     transaction_->Write(page.id(), slots_begin, slot_bytes));
    std::memmove(slots, slots + sizeof(Slot), moved);
  }
  ASSIGN_OR_RETURN(auto bytes,
                   transaction_->Write(page.id(), 0, sizeof(PageHeader)));
  --header.count;
  std::memcpy(bytes, &header, sizeof(header));
  return absl::OkStatus();
}

absl::Status PageEditor::SetObject(const Page& page, int at, ObjectId object) {
  ASSIGN_OR_RETURN(
      auto bytes,
      transaction_->Write(
          page.id(),
          static_cast<uint32_t>(SlotOffset(at) + offsetof(Slot, object)),
          sizeof(object)));
  std::memcpy(bytes, &object, sizeof(object));
  return absl::OkStatus();
}

absl::Status PageEditor::RaiseEraseVersion(const Page& page, uint64_t version) {
  if (version <= page.erase_version()) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      auto bytes,
      transaction_->Write(page.id(), offsetof(PageHeader, erase_version),
                          sizeof(version)));
  std::memcpy(bytes, &version, sizeof(version));
  return absl::OkStatus();
}

absl::Status PageEditor::Rewrite(const Page& page, int count, size_t shared) {
  PageBytes image{};
  if (!CopySlots(page, 0, count, shared, &image)) return Damaged(page);
  ASSIGN_OR_RETURN(auto bytes, transaction_->Write(page.id(), 0, kPageBytes));
  std::memcpy(bytes, image.data(), image.size());
  return absl::OkStatus();
}

absl::StatusOr<ObjectId> PageEditor::Split(const Page& page, int at) {
  PageBytes image{};
  const size_t shared = page.SharedBy(at, page.count());
  if (!CopySlots(page, at, page.count(), shared, &image)) return Damaged(page);
  auto right = transaction_->Alloc(kPageBytes);
  if (!right.ok()) return right;
  ASSIGN_OR_RETURN(auto bytes, transaction_->Write(*right, 0, kPageBytes));
  std::memcpy(bytes, image.data(), image.size());
  RETURN_IF_ERROR(Rewrite(page, at, page.SharedBy(0, at)));
  return right;
}

absl::Status PageEditor::MakeParentOf(const Page& page, ObjectId child) {
  PageBytes image{};
  const PageHeader header = EmptyHeader(PageKind::kInner, 0);
  std::memcpy(image.data(), &header, sizeof(header));
  Append(&image, "", child);
  ASSIGN_OR_RETURN(auto bytes, transaction_->Write(page.id(), 0, kPageBytes));
  std::memcpy(bytes, image.data(), image.size());
  return absl::OkStatus();
}

absl::Status PageEditor::Copy(const Page& from, ObjectId to) {
  ASSIGN_OR_RETURN(auto bytes, transaction_->Write(to, 0, kPageBytes));
  std::memcpy(bytes, from.bytes_, kPageBytes);
  return absl::OkStatus();
}

}  // namespace kamino::engine
