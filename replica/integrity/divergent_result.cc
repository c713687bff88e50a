#include "replica/integrity/divergent_result.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::replica {

using membership::Condition;

void DivergentResult::Resume() {
  const uint64_t first = record_->state().disputed;
  if (first == 0) return;
  const Condition condition = record_->state().condition;
  if (condition == Condition::kReceiving || first <= ring_->applied()) {
    return divergence_->End();
  }
  if (condition == Condition::kBehind) {  // the chain does not need its data
    LOG(ERROR) << "the result of mutation " << first
               << " at this node differs from the head's, and this node has "
                  "just joined; it begins anew";
    copy_->BeginReceiving();
    divergence_->End();
    return neighbour_repair_->Forget();
  }
  if (first > ring_->received()) return;  // lost()
  if (first == ring_->applied() + 1) {
    const LogEntry entry = ring_->EntryOf(first);
    const bool whole = record_->state().disputed_whole;
    const auto own = executor_->HashImage(entry);
    neighbour_repair_->Forget();  // it was not interrupted
    if (!whole || !own.ok() || *own != entry.image_hash()) {
      return divergence_->Resume(entry, whole && own.ok(), own.ok() ? *own : 0);
    }
    // It had become head, and the entry is its own.
    ring_->MarkApplied(entry.last());
    ring_->PersistApplied();
    return divergence_->End();
  }
  // The mark was set back: the earlier entries must be repaired, and this one
  // with them.
  divergence_->End();
}

absl::Status DivergentResult::Lost() const {
  return absl::DataLossError(absl::StrCat(
      "the result of mutation ", record_->state().disputed,
      " at this node differs from the head's, and the ring no longer holds its "
      "log entry, so this node's data cannot be checked; "
      "move its files away and start it again: it joins as a new node"));
}

void DivergentResult::Keep() {
  if (!divergence_->whole()) return RollBack();
  const uint64_t first = divergence_->first();
  const absl::Status replaced = Replace();
  if (absl::IsResourceExhausted(replaced)) return;
  if (!replaced.ok()) return outbox_->Fail(replaced);
  LOG(WARNING) << "mutation " << first
               << " has the result of this node, which is head now";
  if (options_.on_appended) options_.on_appended(ring_->EntryOf(first));
  ring_->MarkApplied(ring_->received());
  ring_->PersistApplied();
  divergence_->End();
}

absl::Status DivergentResult::Replace() {
  const LogEntry entry = ring_->EntryOf(divergence_->first());
  ASSIGN_OR_RETURN(const std::vector<MutationView> views, entry.Mutations());
  ASSIGN_OR_RETURN(const LogEntry::Declared declared, entry.ReadDeclared());
  // Copies, because a draft takes mutations, not views.
  std::vector<Mutation> mutations;
  for (const MutationView& view : views) {
    mutations.push_back(view.Copy());
  }
  std::vector<const Mutation*> pointers;
  for (const Mutation& mutation : mutations) pointers.push_back(&mutation);
  engine::AfterImage image = {divergence_->own_hash(), declared.filled};
  const auto image_of = [this](const engine::Intent& intent) {
    return *executor_->ImageOf(intent);
  };
  LogEntryDraft draft;
  draft.first = divergence_->first();
  draft.chain_id = options_.chain_id;
  draft.view_id = place_->view.id;
  draft.mutations = pointers;
  draft.skipped = entry.skipped();
  draft.write_set = &declared.write_set;
  draft.image = &image;
  if (CarriesImages(options_.mode)) {
    draft.image_of.emplace(image_of);
    RETURN_IF_ERROR(CoverOwn(declared.write_set, draft, &image));
  }
  // Later entries of the former head were neither applied nor acknowledged.
  ring_->TruncateAfter(divergence_->last());
  return ring_->ReplaceLast(draft);
}

absl::Status DivergentResult::CoverOwn(const engine::WriteSet& write_set,
                                       const LogEntryDraft& draft,
                                       engine::AfterImage* image) {
  bool changed = false;
  size_t allocations = 0;
  for (const engine::Intent& intent : write_set) {
    ASSIGN_OR_RETURN(const absl::string_view bytes, executor_->ImageOf(intent));
    if (intent.kind != engine::IntentKind::kAlloc) continue;
    uint32_t& filled = image->filled[allocations++];
    const auto rest = bytes.substr(filled);
    if (rest.find_first_not_of('\0') == absl::string_view::npos) continue;
    filled = intent.length;
    changed = true;
  }
  if (!changed) return absl::OkStatus();
  const std::string bytes = draft.ToString();
  ASSIGN_OR_RETURN(const LogEntry entry, LogEntry::Check(bytes));
  ASSIGN_OR_RETURN(image->hash, entry.HashImages());
  return absl::OkStatus();
}

void DivergentResult::RollBack() {
  // The node rolled it back itself when it found the divergence
  // (Executor::RollBack).
  if (RollsBackAlone(options_.mode)) return Drop();
  if (place_->role() == membership::Role::kSingle) {
    return outbox_->Fail(absl::UnavailableError(absl::StrCat(
        "mutation ", divergence_->first(),
        " could not be executed to its end, and no other node is left to roll "
        "it back from; start another node of the last view")));
  }
  ring_->TruncateAfter(divergence_->last());
  neighbour_repair_->Tear();
}

void DivergentResult::Drop() {
  LOG(WARNING) << "mutation " << divergence_->first()
               << ", which only the former head could execute, is dropped";
  // In this order: a crash on the way leaves an interrupted entry.
  divergence_->End();
  ring_->TruncateAfter(ring_->applied());
}

}  // namespace kamino::replica
