#include "replica/core/chain_core.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/chain_mode.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "replica/state/local_undo.h"

namespace kamino::replica {

using membership::Condition;
using membership::Role;
using membership::View;

namespace {

// The link to the successor, if it receives log entries; kNoLink: it does not,
// or is a joining node.
LinkId SuccessorLink(const Downstream& downstream) {
  return downstream.replicates() && !downstream.joins() ? downstream.link()
                                                        : kNoLink;
}

}  // namespace

ChainCore::ChainCore(ChainOptions options, const ChainStorage& storage)
    : options_(std::move(options)),
      context_{&options_,        &place_,      storage.ring, storage.record,
               storage.executor, storage.copy, &outbox_,     &transfer_stats_},
      links_(context_),
      data_(context_, &links_, storage.scrubbed),
      log_(context_, &links_, &data_),
      link_table_(context_, &links_, &data_),
      views_(context_, &place_, &links_, &data_, &log_),
      messages_(context_, &links_, &data_, &log_, &link_table_) {
  outbox_.set_chain_id(options_.chain_id);
  data_.divergent_result.Resume();
  log_.repair.OnRestart();
}

TransferStats ChainCore::transfer() const {
  TransferStats stats = transfer_stats_;
  stats.sending = links_.donor.state() == Donor::State::kCopying;
  stats.receiving = links_.joiner.state() == Joiner::State::kReceiving;
  return stats;
}

// --- Inputs.

void ChainCore::OnView(const View& view, absl::Time now, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  if (outbox_.failed() || data_.damage.condemned()) return;
  if (views_.Install(view, now)) link_table_.OnView(now);
}

void ChainCore::OnLinkOpened(LinkId link, absl::Time now, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  messages_.OnLinkOpened(link, now);
}

void ChainCore::OnLinkClosed(LinkId link, absl::Time now, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  if (link != kNoLink) link_table_.Lose(link, now);
}

void ChainCore::OnMessage(LinkId link,
                          const kamino::internal::v1::ChainMessage& message,
                          absl::string_view payload, absl::Time now,
                          Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  if (outbox_.failed() || data_.damage.condemned()) return;
  messages_.OnMessage(link, message, payload, now);
}

void ChainCore::OnTick(absl::Time now, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  if (outbox_.failed()) return;
  data_.damage.OnTick(now);
  if (outbox_.failed() || data_.damage.condemned()) return;
  links_.joiner.OnTick(now);
  if (!place_.inside()) return;
  if (links_.donor.state() != Donor::State::kCopying) log_.history.OnTick(now);
  data_.scrub.OnTick(now);
  links_.downstream.OnTick(now);
  links_.completions.OnTick(now);
  data_.neighbour_repair.OnTick(now);
  log_.execution.ContinueDivergence(now);
  log_.repair.RollBackDivergence(now);
  if (links_.donor.OnTick(now) && place_.is_tail()) {
    log_.progress.CompleteAsTail();
  }
  log_.progress.OnTick(now);
  link_table_.OnTick(now);
}

void ChainCore::OnInvited(bool invited, absl::Time now, Actions* actions) {
  links_.joiner.OnInvited(invited, now);
  OnTick(now, actions);
}

void ChainCore::EndOfBatch(absl::Time now, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  if (outbox_.failed() || data_.damage.condemned() ||
      (!place_.inside() && links_.joiner.link() == kNoLink)) {
    return;
  }
  links_.joiner.Acknowledge();
  links_.completions.Report(
      links_.donor.held_at().value_or(context_.ring->applied()));
  if (!data_.soundness.half_executed()) links_.donor.Continue(now);
  // After everything that may append or clean: it sends bytes in the ring.
  log_.repair.AdoptQuarantined(now);
  data_.scrub_exchange.Continue(data_.soundness.may_compare(), now);
  links_.downstream.Pump(
      data_.quarantined.Beyond(log_.progress.known_complete()));
  links_.upstream.Acknowledge(data_.soundness.behind(), now);
}

// --- The head's part.

absl::Status ChainCore::AppendLocal(absl::Span<const Mutation* const> mutations,
                                    const engine::WriteSet& write_set,
                                    const engine::AfterImage& image) {
  CHECK(place_.is_head()) << "only the head appends by itself";
  LogEntryDraft draft;
  draft.first = next_sequence();
  draft.chain_id = options_.chain_id;
  draft.view_id = place_.view.id;
  draft.mutations = mutations;
  if (!mutations.empty()) draft.skipped = mutations.back()->skipped;
  draft.write_set = &write_set;
  draft.image = &image;
  const auto image_of = [this](const engine::Intent& intent) {
    return *context_.executor->ImageOf(intent);
  };
  if (CarriesImages(options_.mode)) draft.image_of.emplace(image_of);
  if (options_.max_entry_bytes != 0 &&
      draft.bytes() > options_.max_entry_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "log entry of ", draft.bytes(),
        " bytes; the chain's links take at most ", options_.max_entry_bytes));
  }
  if (RollsBackAlone(options_.mode)) {
    RETURN_IF_ERROR(
        CheckUndoLogsHold(write_set, context_.ring->space().total()));
  }
  absl::Status appended = context_.ring->Append(draft);
  if (appended.ok()) data_.scrub.OnWritten(write_set);
  if (appended.ok() && options_.on_appended) {
    options_.on_appended(context_.ring->EntryOf(draft.first));
  }
  return appended;
}

void ChainCore::CommitLocal(Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  context_.ring->MarkApplied(context_.ring->received());
  log_.progress.OnApplied();
}

bool ChainCore::LeaveAsDamaged(const absl::Status& found, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  // The predecessor has applied everything that this node has; the successor
  // has everything completed once it has acknowledged that.
  const bool held = links_.upstream.attached() ||
                    (SuccessorLink(links_.downstream) != kNoLink &&
                     links_.downstream.acked() >= log_.progress.settled());
  if (!held || !place_.inside() || data_.divergence.open() ||
      data_.soundness.condition() != Condition::kSound) {
    LOG_EVERY_N(ERROR, 100)
        << "this node's data is damaged, and no other node is known to hold "
           "all of it: "
        << found.message();
    return false;
  }
  data_.damage.EndNow(
      absl::StrCat("an object cannot be read: ", found.message()));
  return true;
}

bool ChainCore::Announce(const RequestIdentity& request, Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  return links_.announcements.Announce(
      request, SuccessorLink(links_.downstream),
      /*alone=*/place_.role() == Role::kSingle);
}

void ChainCore::EndAnnouncement(Actions* actions) {
  const Outbox::Delivery delivery(&outbox_, actions);
  links_.announcements.End(SuccessorLink(links_.downstream));
}

}  // namespace kamino::replica
