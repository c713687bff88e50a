#include "engine/index/index_check.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/index/index_format.h"
#include "engine/index/key_value.h"
#include "engine/index/page.h"

namespace kamino::engine {
namespace {

using index_format::kPageBytes;
using index_format::PageHeader;
using index_format::RecordHeader;
using index_format::Slot;

constexpr int kMaxDepth = 40;

class TreeCheck {
 public:
  using Visit = std::function<void(const CheckedRecord&)>;

  TreeCheck(CheckedBlocks* blocks, const Finding& found, const Visit& visit)
      : blocks_(blocks), found_(found), visit_(visit) {}

  // All keys of the page must be in [lower, upper); an absent upper means no
  // bound.
  void CheckPage(ObjectId id, ObjectId from, int depth,
                 const std::string& lower,
                 const std::optional<std::string>& upper) {
    auto reached = blocks_->Reach(id);
    if (!reached.ok()) {
      return found_(
          from == kNullObject ? id : from,
          absl::StrCat("leads to page ", id, ": ", reached.status().message()));
    }
    auto page = Page::Read(*blocks_, id);
    if (!page.ok()) return found_(id, std::string(page.status().message()));
    ++tree_.pages;
    if (depth >= kMaxDepth) return found_(id, "the tree is too deep");
    NoteDepth(*page, depth);
    CheckSpace(*page, *reached);
    CheckKeys(*page, lower, upper);
    for (int i = 0; i < page->count(); ++i) {
      if (page->leaf()) {
        CheckRecord(*page, i);
        continue;
      }
      std::string least = i == 0 ? lower : std::string(page->key(i));
      std::optional<std::string> over = upper;
      if (i + 1 < page->count()) over = std::string(page->key(i + 1));
      CheckPage(page->object(i), id, depth + 1, least, over);
    }
  }

  const CheckedTree& tree() const { return tree_; }

 private:
  static std::string Shown(absl::string_view key) {
    return absl::StrCat("\"", absl::CHexEscape(key.substr(0, 64)), "\"");
  }

  void NoteDepth(const Page& page, int depth) {
    if (!page.leaf()) return;
    if (leaf_depth_ < 0) leaf_depth_ = depth;
    if (leaf_depth_ == depth) return;
    found_(page.id(),
           absl::StrCat("leaf ", page.id(), " is ", depth,
                        " levels down, but the first leaf is at level ",
                        leaf_depth_));
  }

  // Checks that slots and keys lie in the page without overlap, and that the
  // header's counts are right.
  void CheckSpace(const Page& page, absl::Span<const std::byte> bytes) {
    PageHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    size_t used = 0;
    for (int i = 0; i < page.count(); ++i) {
      const Slot& slot = page.slot(i);
      const size_t end = size_t{slot.key_offset} + slot.key_length;
      const bool empty = slot.key_length == 0 && !page.leaf() && i == 0;
      if (!empty && (slot.key_offset < header.keys_begin || end > kPageBytes)) {
        found_(page.id(), absl::StrCat("key ", i, " of page ", page.id(),
                                       " lies outside the page"));
      }
      used += slot.key_length;
    }
    if (used + header.garbage != kPageBytes - size_t{header.keys_begin}) {
      found_(page.id(), absl::StrCat("page ", page.id(), " has ", used,
                                     " bytes of keys and ", header.garbage,
                                     " bytes unused, which do not add up to ",
                                     kPageBytes - header.keys_begin));
    }
  }

  void CheckKeys(const Page& page, const std::string& lower,
                 const std::optional<std::string>& upper) {
    absl::string_view last;
    for (int i = page.leaf() ? 0 : 1; i < page.count(); ++i) {
      const absl::string_view key = page.key(i);
      const bool is_first = i == (page.leaf() ? 0 : 1);
      if (key.empty() || key.size() > kMaxKeyBytes) {
        found_(page.id(), absl::StrCat("key ", i, " of page ", page.id(),
                                       " has ", key.size(), " bytes"));
      } else if (!is_first && key <= last) {
        found_(page.id(),
               absl::StrCat("keys of page ", page.id(), " are out of order at ",
                            i, ", ", Shown(key)));
      } else if (key < lower || (upper.has_value() && key >= *upper)) {
        found_(page.id(), absl::StrCat("key ", Shown(key), " of page ",
                                       page.id(), " belongs in another page"));
      } else {
        bool equal = false;
        const bool lost =
            page.leaf() && (page.LowerBound(key, &equal) != i || !equal);
        if (lost) {
          found_(page.id(),
                 absl::StrCat("key ", Shown(key), " of page ", page.id(),
                              " is not found by a search"));
        }
      }
      last = key;
    }
  }

  void CheckRecord(const Page& page, int i) {
    const ObjectId id = page.object(i);
    const absl::string_view key = page.key(i);
    auto bytes = blocks_->Reach(id);
    if (!bytes.ok()) {
      return found_(page.id(),
                    absl::StrCat("key ", Shown(key), " leads to ", id, ": ",
                                 bytes.status().message()));
    }
    RecordHeader header = {};
    if (bytes->size() >= sizeof(header)) {
      std::memcpy(&header, bytes->data(), sizeof(header));
    }
    if (bytes->size() < sizeof(header) ||
        header.length > bytes->size() - sizeof(header)) {
      return found_(id, absl::StrCat("the record of key ", Shown(key),
                                     " claims ", header.length,
                                     " bytes, more than object ", id, " has"));
    }
    if (header.version == 0) {
      found_(id,
             absl::StrCat("the record of key ", Shown(key), " has version 0"));
    }
    ++tree_.records;
    tree_.bytes += header.length;
    visit_({id,
            header.version,
            key,
            {reinterpret_cast<const char*>(bytes->data()) + sizeof(header),
             header.length}});
  }

  CheckedBlocks* const blocks_;
  const Finding& found_;
  const Visit& visit_;
  CheckedTree tree_;
  int leaf_depth_ = -1;  // no leaf was met yet
};

}  // namespace

CheckedTree CheckTree(CheckedBlocks* blocks, ObjectId root,
                      const Finding& found,
                      const std::function<void(const CheckedRecord&)>& visit) {
  TreeCheck check(blocks, found, visit);
  check.CheckPage(root, kNullObject, 0, "", std::nullopt);
  return check.tree();
}

}  // namespace kamino::engine
