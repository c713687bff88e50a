#include "replica/core/chain_messages.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "replica/link/message_rules.h"
#include "replica/link/stage_watch.h"

namespace kamino::replica {

using kamino::internal::v1::Fetch;
using membership::Condition;

namespace {

std::string NameOf(kamino::internal::v1::ChainMessage::MessageCase kind) {
  const auto* field =
      kamino::internal::v1::ChainMessage::descriptor()->FindFieldByNumber(kind);
  return field == nullptr ? "an empty message" : field->name();
}

}  // namespace

ChainMessages::ChainMessages(const ChainContext& chain, LinkParts* links,
                             DataParts* data, LogParts* log, LinkTable* table)
    : chain_(chain),
      links_(links),
      data_(data),
      log_(log),
      table_(table),
      hellos_(chain, links, data, log, table),
      successor_(chain, links, data, log),
      replacement_(chain, links, data, log) {}

void ChainMessages::OnMessage(LinkId link, const Message& message,
                              absl::string_view payload, absl::Time now) {
  if (Check(link, message, now)) Handle(link, message, payload, now);
  table_->EndFailedLinks(now);
}

bool ChainMessages::Check(LinkId link, const Message& message, absl::Time now) {
  if (message.chain_id() != chain_.options->chain_id) {
    chain_.outbox->ProtocolError(
        link, absl::StrCat("a message is of chain ", message.chain_id()));
    return false;
  }
  if (message.has_reject()) return true;
  // Before the check of the view: a joining node is in none.
  if (message.has_hello() && table_->EndSelfDial(link, message.hello(), now)) {
    return false;
  }
  if (!CheckView(link, message)) return false;
  const LinkUse use = table_->UseOf(link);
  if (MayCome(message.message_case(), use)) return true;
  chain_.outbox->ProtocolError(
      link, absl::StrCat(NameOf(message.message_case()), " does not come from ",
                         LinkUseName(use)));
  return false;
}

bool ChainMessages::CheckView(LinkId link, const Message& message) {
  const Place& place = *chain_.place;
  if (message.view_id() == place.view.id &&
      (place.inside() || links_->joiner.Has(link))) {
    return true;
  }
  if (message.view_id() > place.view.id) {
    chain_.outbox->FetchView();
    // Only a Hello needs an answer: its sender soon retries, and by then this
    // node has caught up.
    if (!message.has_hello()) return false;
  }
  chain_.outbox->Reject(
      link,
      absl::StrCat("a message of view ", message.view_id(), " reached ",
                   chain_.options->node_id, " in view ", place.view.id),
      /*behind=*/false);
  return false;
}

void ChainMessages::Handle(LinkId link, const Message& message,
                           absl::string_view payload, absl::Time now) {
  switch (message.message_case()) {
    case Message::kHello:
      return hellos_.OnHello(link, message.hello(), now);
    case Message::kSync:
      if (links_->completions.OnSync(link)) return;
      return successor_.OnSync(link, message.sync(), now);
    case Message::kAppend:
      return OnAppend(link, message.append(), payload);
    case Message::kVote:
      return data_->arbitration.OnVote(link, message.vote());
    case Message::kConvict:
      return data_->arbitration.OnConvict(link, message.convict().first(),
                                          links_->completions.completed());
    case Message::kCompare:
      return data_->scrub_exchange.OnCompare(
          link, message.compare(), data_->soundness.may_compare(), now);
    case Message::kCompared:
      if (data_->scrub_exchange.OnCompared(
              link, message.compared(), data_->soundness.may_compare(), now)) {
        chain_.outbox->Close(link);
        table_->Lose(link, now);
      }
      return;
    case Message::kAnnounce:
      if (!chain_.outbox->Belongs(links_->upstream.Has(link))) return;
      return links_->announcements.OnAnnounce(message.announce(), link);
    case Message::kAnnounceAck:
      return successor_.OnAnnounceAck(link, message.announce_ack());
    case Message::kAppendAck:
      return successor_.OnAppendAck(link, message.append_ack().received());
    case Message::kCompletion:
      return OnCompletion(link, message.completion().applied());
    case Message::kCleanUp:
      return successor_.OnCleanUp(link, message.clean_up().cleaned());
    case Message::kFetch:
      return OnFetch(link, message.fetch());
    case Message::kFetched:
      return log_->repair.OnFetched(link, message.fetched(), now);
    case Message::kStateChunkAck:
      return successor_.OnChunkAck(link, message.state_chunk_ack().chunks());
    case Message::kStateWanted:
      return successor_.OnStateWanted(link, message.state_wanted());
    case Message::kStateBegin:
    case Message::kStateChunk:
      return replacement_.OnMessage(link, message, now);
    case Message::kReject:
      return OnReject(link, message, now);
    case Message::MESSAGE_NOT_SET:
      return;  // there is no rule for it
  }
}

void ChainMessages::OnReject(LinkId link, const Message& message,
                             absl::Time now) {
  const NeighbourRepair& neighbour_repair = data_->neighbour_repair;
  if (message.view_id() > chain_.place->view.id) chain_.outbox->FetchView();
  if (link == kNoLink) return;
  if (neighbour_repair.untouched() && neighbour_repair.Asks(link) &&
      message.view_id() == chain_.place->view.id && message.reject().behind()) {
    return log_->repair.ExecuteAdopted();
  }
  if (links_->upstream.Has(link) &&
      message.view_id() == chain_.place->view.id && message.reject().behind() &&
      (data_->soundness.condition() == Condition::kBehind ||
       (neighbour_repair.Asks(link) && !data_->returning.trusted()))) {
    LOG(WARNING) << "this node's state is no longer usable: "
                 << message.reject().reason();
    return replacement_.Discard();
  }
  VLOG(1) << "rejected: " << message.reject().reason();
  links_->downstream.OnRejected(link, now);
  links_->completions.OnRejected(link, now);
  links_->joiner.OnRejected(link, now);
}

void ChainMessages::OnAppend(LinkId link,
                             const kamino::internal::v1::Append& append,
                             absl::string_view entry) {
  if (!chain_.outbox->Belongs(links_->upstream.Has(link)) ||
      data_->neighbour_repair.torn()) {
    return;
  }
  if (append.disputed()) {
    return data_->arbitration.OnAsked(
        link, entry, data_->soundness.condition() == Condition::kSound);
  }
  StageLap lap(chain_.options->stages, Stage::kPersist);
  if (!links_->upstream.Take(entry, data_->returning.may_append())) return;
  const uint64_t received = chain_.ring->received();
  if (append.deadly() && chain_.place->index > 0) {
    data_->quarantined.Note(chain_.ring->EntryOf(received).first() - 1,
                            received, log_->progress.known_complete());
  }
  lap.Next(Stage::kExecute);
  log_->execution.ExecuteReceived();
}

void ChainMessages::OnCompletion(LinkId link, uint64_t applied) {
  if (!chain_.outbox->Belongs(links_->completions.Has(link) &&
                              chain_.place->is_head())) {
    return;
  }
  const uint64_t reached = std::min(applied, chain_.ring->applied());
  if (reached > chain_.ring->cleaned() && !chain_.ring->EndsEntry(reached)) {
    return chain_.outbox->ProtocolError(link,
                                        absl::StrCat("mutation ", applied,
                                                     " is completed, but no "
                                                     "entry ends with it"));
  }
  links_->completions.CompleteTo(reached);
  // The successor has what the tail has applied, and will say so later.
  Downstream& downstream = links_->downstream;
  if (downstream.replicates() && !downstream.joins()) {
    downstream.OnAppendAck(std::min(reached, downstream.sent()));
  }
}

void ChainMessages::OnFetch(LinkId link, const Fetch& fetch) {
  const bool of_predecessor = links_->upstream.Has(link);
  if (!chain_.outbox->Belongs(of_predecessor || links_->downstream.Has(link))) {
    return;
  }
  // A node that may lack something answers once it does not: it will be asked
  // again. It knows from its successor's Hello that the successor lacks more.
  const Condition now = data_->soundness.condition();
  if (now != Condition::kSound && now != Condition::kTorn &&
      now != Condition::kReturned) {
    return;
  }
  if (!of_predecessor) {
    return data_->repair_source.AnswerSuccessor(link, fetch);
  }
  if (data_->returning.trusted()) data_->repair_source.Answer(link, fetch);
}

}  // namespace kamino::replica
