#include "node/storage/storage_copy.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/heap/heap_tiling.h"
#include "glog/logging.h"

namespace kamino::node {

using engine::BlockMap;
using engine::HeapTiling;
using engine::Intent;
using engine::IntentKind;
using engine::PageSet;
using replica::LogEntry;
using replica::LogRing;
using replica::PageRun;

namespace {

// Smaller free ranges are sent with their content.
constexpr size_t kUnusedBytes = 64u << 10;

// In as few runs as possible, if they are not too many.
absl::StatusOr<std::vector<PageRun>> RunsOf(const PageSet& pages) {
  std::vector<PageRun> runs;
  for (size_t page = pages.Next(0); page < pages.pages();
       page = pages.Next(page + 1)) {
    if (!runs.empty() && runs.back().first + runs.back().count == page) {
      ++runs.back().count;
    } else if (runs.size() < replica::StateCopy::kMaxRuns) {
      runs.push_back({page, 1});
    } else {
      return absl::ResourceExhaustedError(
          "the mutations that were under way when the node left the chain "
          "touch too many ranges of pages");
    }
  }
  return runs;
}

static_assert(replica::snapshot_format::kMaxPieceBytes <=
              replica::StateCopy::kMaxChunkBytes);

}  // namespace

StorageCopy::StorageCopy(Storage* storage, std::function<void()> settle,
                         std::function<void()> voided)
    : storage_(storage),
      settle_(std::move(settle)),
      voided_(std::move(voided)),
      scope_{.chain_id = storage->options().chain_id,
             .begin = storage->heap()->objects_begin()},
      changed_(storage->heap_region(), storage->heap()) {}

void StorageCopy::BeginSending(uint64_t sequence) {
  writer_.reset();  // it releases what the next one needs
  writer_.emplace(storage_->heap_region(), scope_, sequence,
                  storage_->heap()->UnusedRanges(kUnusedBytes));
}

uint64_t StorageCopy::BeginSendingChanges(uint64_t sequence, uint64_t after) {
  const PageSet pages = changed_.After(after);
  writer_.reset();
  writer_.emplace(storage_->heap_region(), scope_, sequence, pages,
                  changed_.blocks());
  return storage_->heap_region()->dirty_pages();
}

void StorageCopy::AddWanted(absl::Span<const PageRun> runs) {
  PageSet pages(storage_->heap_region()->pages());
  size_t most = pages.pages();  // regardless of the peer's claim
  for (const PageRun& run : runs) {
    for (uint64_t page = run.first;
         page < pages.pages() && page - run.first < run.count && most > 0;
         ++page, --most) {
      pages.Add(page);
    }
  }
  writer_->Add(pages);
}

size_t StorageCopy::NextChunk(std::string* chunk) {
  replica::StringSink sink(chunk);
  return *writer_->WriteRecord(&sink);  // a string sink never fails
}

void StorageCopy::FinishSending(uint64_t sequence, std::string* chunk) {
  CHECK_EQ(writer_->BytesLeft(), 0u);  // the chunk would be unbounded
  replica::StringSink sink(chunk);
  CHECK(writer_->Finish(sequence, &sink).ok());  // a string sink never fails
}

void StorageCopy::Receive() {
  voided_();
  storage_->BeginReceiving();
  reader_.emplace(storage_->heap_region(), scope_,
                  blocks_.has_value() ? &*blocks_ : nullptr);
}

void StorageCopy::BeginReceiving() {
  blocks_.reset();
  Receive();
}

absl::StatusOr<std::vector<PageRun>> StorageCopy::BeginReceivingChanges(
    uint64_t after) {
  const LogRing& ring = *storage_->ring();
  if (after < ring.cleaned() || after > ring.applied() ||
      !ring.EndsEntry(after)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the chain has kept the changes after mutation ", after,
                     ", but the log of this node is from ", ring.cleaned(),
                     " to ", ring.applied()));
  }
  ASSIGN_OR_RETURN(BlockMap blocks,
                   HeapTiling(*storage_->heap()).AllocatedBlocks());
  PageSet pages(storage_->heap_region()->pages());
  RETURN_IF_ERROR(TakeOut(after, &pages, &blocks));
  ASSIGN_OR_RETURN(std::vector<PageRun> runs, RunsOf(pages));
  settle_();  // pages that stay become durable, too
  blocks_ = std::move(blocks);
  Receive();
  return runs;
}

absl::Status StorageCopy::TakeOut(uint64_t after, PageSet* pages,
                                  BlockMap* blocks) const {
  const LogRing& ring = *storage_->ring();
  absl::flat_hash_set<engine::ObjectId> seen;
  for (uint64_t next = after + 1; next <= ring.received();) {
    const LogEntry entry = ring.EntryOf(next);
    ASSIGN_OR_RETURN(const engine::WriteSet write_set, entry.WriteSet());
    for (const Intent& intent : write_set) {
      RETURN_IF_ERROR(AddPagesOf(intent, pages));
      // The first of them shows the earlier state.
      if (intent.kind == IntentKind::kWrite ||
          !seen.insert(intent.object).second) {
        continue;
      }
      blocks->Set(intent.object, intent.kind == IntentKind::kFree);
    }
    next = entry.last() + 1;
  }
  return absl::OkStatus();
}

absl::StatusOr<replica::StateCopy::Taken> StorageCopy::Take(
    absl::string_view chunk) {
  const uint64_t before = reader_->bytes_stored();
  RETURN_IF_ERROR(reader_->Append(chunk));
  return Taken{reader_->bytes_stored() - before, reader_->end()};
}

absl::Status StorageCopy::FinishReceiving(uint64_t sequence) {
  reader_.reset();
  if (blocks_.has_value()) {
    RETURN_IF_ERROR(HeapTiling(*storage_->heap()).Retile(*blocks_));
    blocks_.reset();
  }
  return storage_->FinishReceiving(sequence);
}

}  // namespace kamino::node
