#include "node/check/node_check.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/heap/heap.h"
#include "engine/heap/heap_check.h"
#include "engine/kamino/commit_log_format.h"
#include "engine/kamino/undo_copy_header.h"
#include "head/admission.h"
#include "node/storage/media_age.h"
#include "node/storage/stamp_format.h"
#include "replica/log/log_ring.h"
#include "replica/log/node_record.h"
#include "replica/state/state_check.h"

namespace kamino::node {
namespace {

using engine::HeapLayout;
using engine::ObjectId;
using membership::Condition;
using replica::LogRing;
using replica::NodeState;

// Most mutations that a head executes as one entry.
const uint64_t kMostInEntry = head::AdmissionOptions().max_batch;

// A copy of a region's bytes, for code that repairs what it finds.
class CopiedRegion {
 public:
  explicit CopiedRegion(const engine::Region& from)
      : bytes_((from.size() + kAlignment - 1) / kAlignment) {
    std::memcpy(bytes_.data(), from.base(), from.size());
    region_ = std::make_unique<ViewedRegion>(
        reinterpret_cast<std::byte*>(bytes_.data()), from.size());
  }
  engine::Region* region() { return region_.get(); }

 private:
  static constexpr size_t kAlignment = 4096;
  struct alignas(kAlignment) Page {
    std::byte bytes[kAlignment];
  };
  std::vector<Page> bytes_;
  std::unique_ptr<ViewedRegion> region_;
};

class Check {
 public:
  Check(const CheckMedia& media,
        const std::function<void(const CheckFinding&)>& found)
      : media_(media), found_(found) {}

  CheckReport Run() {
    for (const std::string& what : media_.findings()) Find("device", 0, what);
    ReadLayout();
    CheckRing();
    CheckHeap();
    CheckUndoCopy();
    return report_;
  }

 private:
  void Find(const std::string& region, uint64_t offset,
            const std::string& what) {
    ++report_.findings;
    found_({region, offset, what});
  }
  engine::Finding In(const std::string& region) {
    return [this, region](uint64_t offset, const std::string& what) {
      Find(region, offset, what);
    };
  }

  // --- The heap's superblock, which the others name.

  void ReadLayout() {
    if (!media_.heap().has_value()) {
      return Find("heap", 0, "it is missing, but other regions exist");
    }
    auto layout = engine::ReadHeapLayout(media_.heap()->region.get());
    if (!layout.ok()) {
      return Find(media_.heap()->name, 0,
                  std::string(layout.status().message()));
    }
    report_.label = layout->label;
    layout_ = *std::move(layout);
  }

  // --- The ring: its header, marks, record and entries.

  void CheckRing() {
    if (!media_.ring().has_value()) {
      return Find("ring", 0, "it is missing, but other regions exist");
    }
    const std::string& name = media_.ring()->name;
    ring_bytes_.emplace(*media_.ring()->region);
    engine::Region* const region = ring_bytes_->region();
    LogRing::HeapUuid heap = {};
    if (layout_.has_value()) {
      heap = layout_->uuid;
    } else if (region->size() >= replica::ring_format::kHeaderBytes) {
      // The heap cannot tell: the ring is checked by its own header.
      const auto* const header =
          reinterpret_cast<const replica::ring_format::RingHeader*>(
              region->base());
      std::memcpy(heap.data(), header->heap_uuid, heap.size());
    }
    auto ring = LogRing::Open(region, heap);
    if (!ring.ok()) {
      Find(name, 0, std::string(ring.status().message()));
    } else {
      ring_ = *std::move(ring);
      report_.received = ring_->received();
      report_.applied = ring_->applied();
      report_.cleaned = ring_->cleaned();
      CheckEntries(name);
    }
    if (region->size() < replica::ring_format::kHeaderBytes) return;
    CheckRecordCopies(name, *region);
    replica::NodeRecord record(region);
    absl::Status opened = record.Open();
    if (!opened.ok()) {
      return Find(name, replica::ring_format::kRecordOffsets[0],
                  std::string(opened.message()));
    }
    state_ = record.state();
  }

  void CheckEntries(const std::string& name) {
    for (uint64_t last = ring_->cleaned(); last < ring_->received();) {
      const replica::LogEntry entry = ring_->EntryOf(last + 1);
      const bool applied = entry.last() <= ring_->applied();
      absl::Status visited = entry.VisitWrittenObjects([&](ObjectId object) {
        if (!applied) in_doubt_.insert(object);
      });
      if (!visited.ok()) {
        Find(name,
             static_cast<uint64_t>(
                 reinterpret_cast<const std::byte*>(entry.bytes().data()) -
                 ring_bytes_->region()->base()),
             absl::StrCat("entry ", entry.first(), ": ", visited.message()));
      }
      last = entry.last();
    }
  }

  // The node restores an unreadable copy from the other when it starts.
  void CheckRecordCopies(const std::string& name,
                         const engine::Region& region) {
    using replica::ring_format::kRecordOffsets;
    using replica::ring_format::RecordLine;
    for (int version = 0; version < 2; ++version) {
      RecordLine lines[2];
      for (int copy = 0; copy < 2; ++copy) {
        std::memcpy(&lines[copy],
                    region.base() + kRecordOffsets[copy] +
                        static_cast<size_t>(version) * sizeof(RecordLine),
                    sizeof(RecordLine));
        const bool none = lines[copy].serial == 0;
        if (none ||
            lines[copy].checksum ==
                XXH3_64bits(&lines[copy], offsetof(RecordLine, checksum))) {
          continue;
        }
        Find(name,
             kRecordOffsets[copy] +
                 static_cast<size_t>(version) * sizeof(RecordLine),
             absl::StrCat("copy ", copy, " of version ", version,
                          " of the node's record has a wrong checksum"));
      }
    }
  }

  // --- The heap.

  void CheckHeap() {
    if (!layout_.has_value()) return;
    const std::string& name = media_.heap()->name;
    engine::Region* const region = media_.heap()->region.get();
    if (state_.has_value() && state_->condition == Condition::kReceiving) {
      return Find(name, 0,
                  "a state transfer into this heap was interrupted; the node "
                  "receives the heap anew when it starts");
    }
    if (const std::optional<MediaAge> age = CheckAge(region, name)) {
      CheckEndsEntry(*age, name);
      heap_age_.emplace(*age);
    }
    if (state_.has_value() && state_->was_head) NoteHeadsIntents(*region);
    engine::CheckedBlocks blocks(region, layout_->objects_begin,
                                 layout_->objects_end);
    const engine::Finding found = [this, &name](uint64_t offset,
                                                const std::string& what) {
      FindInHeap(name, offset, what);
    };
    blocks.Walk(found);
    const replica::CheckedState state =
        replica::CheckState(&blocks, layout_->root, found,
                            [this, &name](const engine::CheckedRecord& object) {
                              CheckVersion(name, object);
                            });
    blocks.VisitUnreached([&](ObjectId id, uint64_t bytes) {
      found(id,
            absl::StrCat("unreachable object ", id, " of ", bytes, " bytes"));
    });
    report_.blocks = blocks.allocated();
    report_.block_bytes = blocks.allocated_bytes();
    report_.formatted = state.formatted;
    report_.restoring = state.restoring;
    report_.objects = state.objects.records;
    report_.clients = state.clients.records;
    report_.sessions = state.sessions.records;
    report_.pages =
        state.objects.pages + state.clients.pages + state.sessions.pages;
  }

  // A head executes an entry before it is in the ring; nothing else may be
  // newer than that.
  void CheckVersion(const std::string& name,
                    const engine::CheckedRecord& object) {
    if (ring_ == nullptr || object.version <= ring_->received()) return;
    const bool executes = state_.has_value() && state_->was_head;
    if (executes && object.version - ring_->received() <= kMostInEntry) {
      ++report_.interrupted;
      return;
    }
    Find(name, object.id,
         absl::StrCat("an object has version ", object.version,
                      ", but the node's ring ends at mutation ",
                      ring_->received()));
  }

  // Entries under way when the node ended may rightly be torn.
  void FindInHeap(const std::string& name, uint64_t offset,
                  const std::string& what) {
    constexpr uint64_t kHeader = sizeof(engine::heap_format::BlockHeader);
    if (in_doubt_.contains(offset) || in_doubt_.contains(offset + kHeader)) {
      ++report_.interrupted;
      return;
    }
    Find(name, offset, what);
  }

  // Objects to which a head may have stored without a commit.
  void NoteHeadsIntents(const engine::Region& region) {
    namespace format = engine::commit_log_format;
    const uint64_t bytes = format::TableBytes(layout_->log_bytes);
    const std::byte* const table =
        region.base() + layout_->log_offset + format::TableOffset();
    for (uint64_t at = 0; at + sizeof(ObjectId) <= bytes;
         at += sizeof(ObjectId)) {
      ObjectId id = 0;
      std::memcpy(&id, table + at, sizeof(id));
      id &= ~format::kKindMask;
      if (id != 0) in_doubt_.insert(id);
    }
    NoteRecords(region);
  }

  // Objects of commit records that may be rolled back.
  void NoteRecords(const engine::Region& region) {
    namespace format = engine::commit_log_format;
    const uint64_t ring_offset =
        layout_->log_offset + format::RingOffset(layout_->log_bytes);
    const uint64_t lines = format::RingLines(layout_->log_bytes);
    format::LogHeader log;
    std::memcpy(&log, region.base() + layout_->log_offset, sizeof(log));
    for (uint64_t line = 0; line < lines; ++line) {
      const std::byte* const at =
          region.base() + ring_offset + line * format::kLineBytes;
      format::RecordHeader record;
      std::memcpy(&record, at, sizeof(record));
      if (record.position % lines != line || record.position < log.tail ||
          format::RecordLines(record.count) > lines - line) {
        continue;
      }
      for (uint32_t i = 0; i < record.count; ++i) {
        format::Entry entry;
        std::memcpy(&entry, at + sizeof(record) + i * sizeof(entry),
                    sizeof(entry));
        in_doubt_.insert(entry.object_kind & ~format::kKindMask);
      }
    }
  }

  // --- Whether the regions are of the same age.

  MediaAge::Ring AgeOfRing() const {
    return {media_.ring()->name,        {state_->incarnation, state_->nonce},
            state_->next_nonce,         ring_->marks().own().begin(),
            ring_->marks().own().end(), ring_->cleaned(),
            ring_->received()};
  }

  // Nothing: unknown, or of another age.
  std::optional<MediaAge> CheckAge(engine::Region* region,
                                   const std::string& name) {
    if (ring_ == nullptr || !state_.has_value()) return std::nullopt;
    MediaAge age(region, name);
    absl::Status status = age.Check(AgeOfRing());
    if (status.ok()) return age;
    Find(name, stamp_format::kStampOffset, std::string(status.message()));
    return std::nullopt;
  }

  // The node continues after the position that both say is applied.
  void CheckEndsEntry(const MediaAge& heap, const std::string& name) {
    const uint64_t applied = std::min(ring_->applied(), heap.applied());
    if (ring_->EndsEntry(applied)) return;
    Find(name, stamp_format::kAppliedOffset,
         absl::StrCat("mutation ", applied,
                      " was the last applied one, which is within an entry of ",
                      media_.ring()->name));
  }

  // --- The undo copy.

  // Whether the node must roll something back; otherwise it makes a new undo
  // copy.
  bool NeedsUndoCopy() const {
    return state_.has_value() && (state_->was_head || state_->local_undo);
  }

  void CheckUndoCopy() {
    if (!NeedsUndoCopy()) return;
    if (!media_.undo_copy().has_value()) {
      return Find("undo copy", 0,
                  "it is missing, but the node needs it to roll back "
                  "interrupted transactions");
    }
    const std::string& name = media_.undo_copy()->name;
    engine::Region* const region = media_.undo_copy()->region.get();
    if (region->size() < engine::undo_copy_format::kHeaderBytes) {
      return Find(name, 0, absl::StrCat("it has ", region->size(), " bytes"));
    }
    if (!layout_.has_value()) return;  // reported before
    auto heap = engine::Heap::Open(media_.heap()->region.get());
    if (!heap.ok()) return;  // likewise
    engine::undo_copy_format::UndoCopyHeader header;
    std::memcpy(&header, region->base(), sizeof(header));
    absl::Status status = engine::CheckUndoCopyHeader(
        **heap, static_cast<engine::undo_copy_format::Kind>(header.kind),
        *region);
    const bool known = header.kind >= 1 && header.kind <= 3;
    if (status.ok() && !known) {
      status = absl::DataLossError(
          absl::StrCat("an undo copy of kind ", header.kind));
    }
    if (!status.ok()) return Find(name, 0, std::string(status.message()));
    const std::optional<MediaAge> age = CheckAge(region, name);
    if (!age.has_value() || !heap_age_.has_value()) return;
    status = heap_age_->CheckBeside(*age);
    if (!status.ok()) {
      Find(name, stamp_format::kAppliedOffset, std::string(status.message()));
    }
  }

  const CheckMedia& media_;
  const std::function<void(const CheckFinding&)>& found_;
  CheckReport report_;
  std::optional<HeapLayout> layout_;
  std::optional<CopiedRegion> ring_bytes_;
  std::unique_ptr<LogRing> ring_;  // null: it cannot be opened
  std::optional<NodeState> state_;
  std::optional<MediaAge> heap_age_;
  absl::flat_hash_set<ObjectId> in_doubt_;
};

}  // namespace

CheckReport CheckNode(const CheckMedia& media,
                      const std::function<void(const CheckFinding&)>& found) {
  return Check(media, found).Run();
}

}  // namespace kamino::node
