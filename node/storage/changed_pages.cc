#include "node/storage/changed_pages.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/heap/heap_format.h"
#include "glog/logging.h"

namespace kamino::node {

using engine::BlockChanges;
using engine::Intent;
using engine::IntentKind;
using engine::PageSet;
using replica::LogEntry;

absl::Status AddPagesOf(const Intent& intent, PageSet* pages) {
  constexpr uint64_t kHeader = sizeof(engine::heap_format::BlockHeader);
  const uint64_t size = pages->pages() * PageSet::kPageBytes;
  const uint64_t bytes = uint64_t{intent.offset} + intent.length;
  if (intent.object < kHeader || intent.object >= size ||
      bytes > size - intent.object) {
    return absl::DataLossError(
        absl::StrCat("a log entry names an object at offset ", intent.object,
                     ", which lies outside of the heap"));
  }
  pages->AddBytes(intent.object - kHeader, kHeader);
  if (intent.length > 0 && intent.kind != IntentKind::kFree) {
    pages->AddBytes(intent.object + intent.offset, intent.length);
  }
  return absl::OkStatus();
}

void ChangedPages::Keep(uint64_t since, const replica::LogRing& ring) {
  if (moments_.empty()) {
    blocks_.emplace(region_->size());
    heap_->states().NoteIn(&*blocks_);
  }
  moments_.push_back({since, std::make_unique<PageSet>(region_->pages())});
  region_->Collect(moments_.back().pages.get());
  for (uint64_t next = since + 1; next <= ring.received();) {
    const LogEntry entry = ring.EntryOf(next);
    if (absl::Status added = Add(entry, entry.last() <= ring.applied());
        !added.ok()) {
      LOG(ERROR) << "mutation " << next
                 << ": cannot tell which pages changed: " << added.message();
      return Forget();
    }
    next = entry.last() + 1;
  }
}

absl::Status ChangedPages::Add(const LogEntry& entry, bool executed) {
  ASSIGN_OR_RETURN(const engine::WriteSet write_set, entry.WriteSet());
  for (const Intent& intent : write_set) {
    RETURN_IF_ERROR(AddPagesOf(intent, moments_.back().pages.get()));
    if (executed && intent.kind != IntentKind::kWrite) {
      blocks_->Note(intent.object, intent.kind == IntentKind::kAlloc);
    }
  }
  return absl::OkStatus();
}

void ChangedPages::ForgetBefore(uint64_t since) {
  while (!moments_.empty() && moments_.front().since < since) {
    if (moments_.size() == 1) return Forget();
    moments_.pop_front();
  }
}

void ChangedPages::Forget() {
  if (moments_.empty()) return;
  region_->Collect(nullptr);
  heap_->states().NoteIn(nullptr);
  moments_.clear();
  blocks_.reset();
}

bool ChangedPages::KnowsAfter(uint64_t sequence) const {
  return !moments_.empty() && moments_.front().since <= sequence;
}

PageSet ChangedPages::After(uint64_t sequence) const {
  PageSet pages(region_->pages());
  for (auto moment = moments_.rbegin(); moment != moments_.rend(); ++moment) {
    pages.AddAll(*moment->pages);
    if (moment->since <= sequence) break;
  }
  return pages;
}

}  // namespace kamino::node
