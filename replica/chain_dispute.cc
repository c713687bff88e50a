// What a node's core does about a log entry that comes to something else here
// than at the head (replica/dispute.h).
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "replica/chain_core.h"

namespace kamino::replica {

using kamino::internal::v1::Sync;
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
  if (behind()) {  // the chain does not need what it holds
    LOG(ERROR) << "mutation " << first
               << " came to something else here than at the head, and this "
                  "node has just joined; it begins anew";
    copy_->BeginReceiving();
    dispute_.End();
    return mending_.Forget();
  }
  if (first > ring_->received()) return;  // EnterView tells
  if (first == ring_->applied() + 1) {
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
  // The mark was taken back: those before it are to be mended, and it with
  // them.
  dispute_.End();
}

absl::Status ChainCore::LostDispute() const {
  return absl::DataLossError(absl::StrCat(
      "mutation ", record_->state().disputed,
      " came to something else here than at the head, and its log entry is not "
      "in the ring any more, so that nobody can tell what this node holds; "
      "move "
      "its files away and start it again: it joins as a new node"));
}

void ChainCore::Decide(absl::Time now) {
  if (!dispute_.open() || !has_state()) return;
  const Member* next = view_.Successor(index_);
  if (is_head()) return DecideAsHead(now);
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
      LOG(ERROR) << "nobody can tell who is right about mutation "
                 << dispute_.first()
                 << ": the chain stands still until one of those who disagree, "
                 << options_.node_id << " and the head, "
                 << view_.head().node_id
                 << (dispute_.a_copy_agrees()
                         ? absl::StrCat(" (", next->node_id, " agrees with ",
                                        options_.node_id,
                                        ", but their data are one copy)")
                         : "")
                 << ", is taken out (kamino admin remove NODE, with --force "
                    "where that leaves one node); see docs/recovery.md, "
                    "Disputes";
  }
}

void ChainCore::DecideAsHead(absl::Time now) {
  if (!dispute_.whole()) {
    if (mending_.state() == Mending::State::kTorn && downstream_.replicates()) {
      GoOnMended(mending_.Begin(downstream_.link(), Mend::kBack, now));
    }
    return;
  }
  KeepOwnResult();  // the ring may have room now
  if (!dispute_.open() && !outbox_.failed()) AfterApplied();
}

void ChainCore::OnVote(LinkId link, const Vote& vote) {
  if (!outbox_.Belongs(downstream_.Has(link) && downstream_.replicates())) {
    return;
  }
  const std::string origin = scrub_.origin();
  dispute_.OnVote(vote.first(), vote.image_hash(),
                  /*one_origin=*/origin.empty() || vote.origin().empty() ||
                      vote.origin() == origin);
}

void ChainCore::KeepOwnResult() {
  if (!dispute_.whole()) return TakeBackDisputed();
  std::vector<Mutation> mutations;
  engine::WriteSet write_set;
  engine::AfterImage image;
  {
    const LogEntry entry = ring_->EntryOf(dispute_.first());
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
  ring_->TruncateAfter(dispute_.last());
  std::vector<const Mutation*> pointers;
  for (const Mutation& mutation : mutations) pointers.push_back(&mutation);
  LogEntryDraft draft;
  draft.first = dispute_.first();
  draft.chain_id = options_.chain_id;
  draft.view_id = view_.id;
  draft.mutations = pointers;
  draft.write_set = &write_set;
  draft.image = &image;
  absl::Status replaced = ring_->ReplaceLast(draft);
  if (absl::IsResourceExhausted(replaced)) return;
  if (!replaced.ok()) return outbox_.Fail(replaced);
  LOG(WARNING) << "mutation " << dispute_.first()
               << " is what this node made of it, which is head now";
  if (options_.on_appended) {
    options_.on_appended(ring_->EntryOf(draft.first));
  }
  ring_->MarkApplied(ring_->received());
  ring_->PersistApplied();
  dispute_.End();
}

// Nobody was answered: the client asks again.
void ChainCore::TakeBackDisputed() {
  if (role() == Role::kSingle) {
    return outbox_.Fail(absl::UnavailableError(absl::StrCat(
        "mutation ", dispute_.first(),
        " could not be executed to its end, and no other node is left to take "
        "it back by; start another node of the last view")));
  }
  ring_->TruncateAfter(dispute_.last());
  mending_.Tear();
}

void ChainCore::DropDisputed() {
  LOG(WARNING) << "mutation " << dispute_.first()
               << ", which only the former head could execute, is dropped";
  // In this order: a crash on the way leaves an entry that was interrupted.
  dispute_.End();
  ring_->TruncateAfter(ring_->applied());
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
  LOG(WARNING) << "mutation " << entry->first()
               << " came to something else at the predecessor than at the "
                  "head; here it comes to "
               << (!hash.ok() ? hash.status().message()
                   : *hash == entry->image_hash()
                       ? "the same as at the head"
                       : "something else than at the head");
  Vote* vote = outbox_.Send(link).mutable_vote();
  vote->set_first(entry->first());
  vote->set_image_hash(hash.ok() ? *hash : 0);
  vote->set_origin(scrub_.origin());
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
  LeaveDamaged(absl::StrCat("mutation ", first,
                            " came to something else at this node than at ", by,
                            ": what it holds, its memory or its processor is "
                            "damaged"));
}

bool ChainCore::CheckUnsent(const Sync& sync) {
  const uint64_t sequence = sync.received() + 1;
  if (sequence <= ring_->cleaned() || sequence > ring_->applied()) return true;
  const auto entry = LogEntry::Check(ring_->EntryOf(sequence).bytes());
  if (entry.ok()) return true;
  std::string why = absl::StrCat(
      "mutation ", sequence,
      " is not in this node's ring as it was: ", entry.status().message());
  // What it has made of the entry is in its heap. Who joins gets it from there.
  if (downstream_.joins()) {
    LOG(ERROR) << why << "; " << donor_.joining() << " has to begin anew";
    donor_.ForgetUnreadable(sequence);
    return false;
  }
  // And who lacks what is complete cannot take its place.
  if (sync.behind() || (is_head() && sequence <= completed())) {
    LOG(ERROR) << why << "; the successor has to begin anew";
    outbox_.Reject(downstream_.link(), std::move(why), sync.behind());
    return false;
  }
  LeaveDamaged(why);
  return false;
}

bool ChainCore::LeaveAsDamaged(const absl::Status& found, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  // Who comes before this node has applied what this node has; who comes after
  // it has what is complete once it has acknowledged that.
  const bool held = upstream_.attached() ||
                    (downstream_.replicates() && !downstream_.joins() &&
                     downstream_.acked() >= settled());
  if (!held || index_ < 0 || dispute_.open() ||
      condition() != Condition::kSound) {
    LOG_EVERY_N(ERROR, 100)
        << "this node's data are damaged, and nobody is known to hold all of "
           "them: "
        << found.message();
    return false;
  }
  LeaveDamaged(absl::StrCat("an object cannot be read: ", found.message()));
  return true;
}

void ChainCore::LeaveDamaged(absl::string_view why) {
  outbox_.Fail(RecordDamage(why));
}

absl::Status ChainCore::RecordDamage(absl::string_view why) {
  NodeState state = record_->state();
  state.condition = Condition::kReceiving;
  state.was_head = false;
  state.view_id = 0;  // of which it holds nothing any more
  state.disputed = 0;
  state.disputed_whole = false;
  record_->Update(state);
  return absl::DataLossError(absl::StrCat(
      why,
      ". Its data are of no use any more; once it is started again it joins as "
      "a new node"));
}

}  // namespace kamino::replica
