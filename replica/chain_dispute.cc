// What a node's core does about an operation that comes to something else here
// than at the head (replica/dispute.h).
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "replica/chain_core.h"

namespace kamino::replica {

using kamino::internal::v1::Vote;
using membership::Condition;
using membership::Member;
using membership::Role;

// --- Where it is found.

void ChainCore::Dissent(const LogEntry& entry, const absl::Status& why,
                        uint64_t hash) {
  // What the heap holds now is no state of the chain.
  donor_.Stop();
  AfterApplied();  // those before it
  if (outbox_.failed()) return;
  dispute_.Begin(entry, why, hash);
  if (index_ < 0) return Convict(entry.first(), "the chain");  // it joins
  // What came from another head, which has gone.
  if (!is_head()) return;
  KeepOwnResult();
  if (!dispute_.open() && !outbox_.failed()) AfterApplied();
}

void ChainCore::ResumeDispute() {
  const uint64_t first = record_->state().disputed;
  if (first == 0) return;
  if (!has_state() || first <= ring_->applied()) return dispute_.End();
  if (first == ring_->applied() + 1 && first <= ring_->received() &&
      !behind()) {
    const LogEntry entry = ring_->EntryOf(first);
    const bool whole = record_->state().disputed_whole;
    const auto own = executor_->HashImage(entry);
    mending_.Forget();  // it was not interrupted
    if (!whole || !own.ok() || *own != entry.image_hash()) {
      return dispute_.Resume(entry, whole && own.ok(), own.ok() ? *own : 0);
    }
    // It had become head, and the entry is its own.
    ring_->MarkApplied(entry.last());
    ring_->PersistApplied();
    return dispute_.End();
  }
  LOG(ERROR) << "operation " << first
             << " came to something else here than at the head, and is not in "
                "the ring any more; this node begins anew";
  copy_->BeginReceiving();
  dispute_.End();
  mending_.Forget();
}

void ChainCore::Decide(absl::Time now) {
  if (!dispute_.open() || !has_state()) return;
  const Member* next = view_.Successor(index_);
  if (is_head()) {
    if (mending_.state() == Mending::State::kTorn && downstream_.replicates()) {
      GoOnMended(mending_.Begin(downstream_.link(), Mend::kBack, now));
    }
    return;
  }
  switch (dispute_.Judge(static_cast<size_t>(index_), next != nullptr)) {
    case Dispute::Judgement::kAsk:
      if (downstream_.replicates() && dispute_.MaySpeak(now)) {
        outbox_.SendEntry(downstream_.link(), ring_->EntryOf(dispute_.first()))
            ->set_disputed(true);
      }
      return;
    case Dispute::Judgement::kThisNodeErred:
      return Convict(dispute_.first(), "two others");
    case Dispute::Judgement::kHeadErred:
      if (upstream_.attached() && dispute_.MaySpeak(now)) {
        outbox_.Send(upstream_.link())
            .mutable_convict()
            ->set_first(dispute_.first());
      }
      return;
    case Dispute::Judgement::kUndecided:
      if (!dispute_.FirstUndecided()) return;
      LOG(ERROR) << "nobody can tell who is right about operation "
                 << dispute_.first()
                 << ": the chain stands still until one of those who disagree, "
                 << options_.node_id << " and the head, "
                 << view_.head().node_id
                 << ", is taken out (kamino admin remove); see "
                    "docs/recovery.md, Disputes";
  }
}

void ChainCore::OnVote(LinkId link, const Vote& vote) {
  if (!outbox_.Belongs(downstream_.Has(link) && downstream_.replicates())) {
    return;
  }
  dispute_.OnVote(vote.first(), vote.image_hash());
}

void ChainCore::KeepOwnResult() {
  if (!dispute_.whole()) return TakeBackDisputed();
  LOG(WARNING) << "operation " << dispute_.first()
               << " is what this node made of it, which is head now";
  const uint64_t first = dispute_.first();
  std::vector<Mutation> mutations;
  engine::WriteSet write_set;
  engine::AfterImage image;
  {
    const LogEntry entry = ring_->EntryOf(first);
    auto views = entry.Mutations();
    auto intents = entry.WriteSet();
    auto filled = entry.Filled();
    if (!views.ok() || !intents.ok() || !filled.ok()) {
      return outbox_.Fail(views.ok() ? intents.status() : views.status());
    }
    for (const MutationView& view : *views) {
      mutations.push_back({std::string(view.function),
                           std::string(view.arguments), view.client_id,
                           view.number, view.since, view.dropped_clients});
    }
    write_set = *std::move(intents);
    image = {dispute_.own_hash(), *std::move(filled)};
  }
  // What the head has sent after it was neither applied nor answered.
  ring_->TruncateAfter(ring_->applied());
  std::vector<const Mutation*> pointers;
  for (const Mutation& mutation : mutations) pointers.push_back(&mutation);
  absl::Status appended = AppendLocal(pointers, write_set, image);
  if (!appended.ok()) return outbox_.Fail(appended);
  ring_->MarkApplied(ring_->received());
  ring_->PersistApplied();
  dispute_.End();
}

// Nobody was answered: the client asks again.
void ChainCore::TakeBackDisputed() {
  if (role() == Role::kSingle) {
    return outbox_.Fail(absl::UnavailableError(absl::StrCat(
        "operation ", dispute_.first(),
        " could not be executed to its end, and no other node is left to take "
        "it back by; start another node of the last view")));
  }
  ring_->TruncateAfter(dispute_.last());
  mending_.Tear();
}

void ChainCore::DropDisputed() {
  LOG(WARNING) << "operation " << dispute_.first()
               << ", which only the former head could execute, is dropped";
  ring_->TruncateAfter(ring_->applied());
  dispute_.End();
}

// --- At the successor.

void ChainCore::OnDisputed(LinkId link, absl::string_view bytes) {
  const auto entry = LogEntry::Check(bytes);
  if (!entry.ok()) return outbox_.CountMalformed();
  // It is asked again; by then it may have executed all before.
  if (entry->first() != ring_->applied() + 1 ||
      ring_->applied() != ring_->received() || dispute_.open() ||
      condition() != Condition::kSound) {
    return;
  }
  const auto hash = executor_->Try(*entry);
  LOG(WARNING) << "operation " << entry->first()
               << " came to something else at the predecessor than at the "
                  "head; here it comes to "
               << (!hash.ok() ? hash.status().message()
                   : *hash == entry->image_hash()
                       ? "the same as at the head"
                       : "something else than at the head");
  Vote* vote = outbox_.Send(link).mutable_vote();
  vote->set_first(entry->first());
  vote->set_image_hash(hash.ok() ? *hash : 0);
}

// --- At who erred.

void ChainCore::OnConvict(LinkId link, uint64_t first) {
  if (!outbox_.Belongs(downstream_.Has(link) && role() == Role::kHead)) return;
  // What is complete was borne out by all.
  if (first <= completions_.completed() || first > ring_->applied()) {
    return outbox_.CountMalformed();
  }
  Convict(first, "two others");
}

void ChainCore::Convict(uint64_t first, absl::string_view by) {
  LeaveDamaged(absl::StrCat("operation ", first,
                            " came to something else at this node than at ", by,
                            ": what it holds, its memory or its processor is "
                            "damaged"));
}

void ChainCore::CheckUnsent(uint64_t sequence) {
  if (sequence <= ring_->cleaned() || sequence > ring_->applied()) return;
  const auto entry = LogEntry::Check(ring_->EntryOf(sequence).bytes());
  if (entry.ok()) return;
  LeaveDamaged(absl::StrCat(
      "operation ", sequence,
      " is not in this node's ring as it was: ", entry.status().message()));
}

void ChainCore::LeaveDamaged(absl::string_view why) {
  outbox_.Fail(RecordDamage(why));
}

absl::Status ChainCore::RecordDamage(absl::string_view why) {
  NodeState state = record_->state();
  state.condition = Condition::kReceiving;
  state.was_head = false;
  state.disputed = 0;
  state.disputed_whole = false;
  record_->Update(state);
  return absl::DataLossError(absl::StrCat(
      why,
      ". Its data are of no use any more; once it is started again it joins as "
      "a new node"));
}

}  // namespace kamino::replica
