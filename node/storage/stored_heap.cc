#include "node/storage/stored_heap.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "node/storage/stamp_format.h"
#include "replica/log/applied_mark.h"
#include "replica/state/scrub_format.h"

namespace kamino::node {
namespace {

using engine::Heap;
using engine::TrackedRegion;
using Part = Media::Part;

static_assert(stamp_format::kAppliedOffset + replica::AppliedMark::kBytes <=
              replica::scrub_format::kOffset);

// Names the heap's owner.
std::string LabelOf(const StorageOptions& options) {
  return absl::StrCat(options.cluster_id, "/", options.chain_id, "/",
                      options.node_id);
}

}  // namespace

StoredHeap::StoredHeap(std::string name, std::unique_ptr<TrackedRegion> region,
                       std::unique_ptr<Heap> heap)
    : name_(std::move(name)),
      region_(std::move(region)),
      heap_(std::move(heap)),
      scrub_record_(region_.get(), replica::scrub_format::kOffset) {}

absl::StatusOr<std::unique_ptr<StoredHeap>> StoredHeap::Create(
    const StorageOptions& options, Media* media) {
  ASSIGN_OR_RETURN(auto created,
                   media->Create(Part::kHeap, options.heap_bytes));
  auto region = std::make_unique<TrackedRegion>(std::move(created));
  auto heap = options.tiny_log_bytes > 0
                  ? Heap::CreateWithLog(region.get(), LabelOf(options),
                                        options.tiny_log_bytes)
                  : Heap::Create(region.get(), LabelOf(options));
  if (!heap.ok()) return media->WithName(heap.status(), Part::kHeap);
  return absl::WrapUnique(new StoredHeap(media->Name(Part::kHeap),
                                         std::move(region), *std::move(heap)));
}

absl::StatusOr<std::unique_ptr<StoredHeap>> StoredHeap::Open(
    const StorageOptions& options, Media* media) {
  ASSIGN_OR_RETURN(auto opened, media->Open(Part::kHeap));
  auto region = std::make_unique<TrackedRegion>(std::move(opened));
  auto heap = Heap::Open(region.get());
  if (!heap.ok()) return media->WithName(heap.status(), Part::kHeap);
  const std::string label = LabelOf(options);
  if ((*heap)->label() != label) {
    return absl::FailedPreconditionError(absl::StrCat(
        media->Name(Part::kHeap), " belongs to ", (*heap)->label(), ", not to ",
        label, "; check --cluster_id, --node_id and --data_dir"));
  }
  return absl::WrapUnique(new StoredHeap(media->Name(Part::kHeap),
                                         std::move(region), *std::move(heap)));
}

void StoredHeap::EmptyLog() {
  const absl::Span<std::byte> log = heap_->log_area();
  region_->ZeroFlush(log.data(), log.size());
  region_->Drain();
}

}  // namespace kamino::node
