#include "replica/core/hello_exchange.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "replica/link/handshake.h"
#include "replica/log/log_entry.h"
#include "replica/state/executor.h"

namespace kamino::replica {

using kamino::internal::v1::Hello;
using kamino::internal::v1::LINK_PURPOSE_APPEND;
using kamino::internal::v1::LINK_PURPOSE_TRANSFER;
using membership::Condition;

void HelloExchange::OnOpened(LinkId link, absl::Time now) {
  const NodeState& state = chain_.record->state();
  const Soundness& soundness = data_->soundness;
  Hello hello;
  if (!links_->downstream.OnOpened(link, now, &hello) &&
      !links_->completions.OnOpened(link, now, &hello) &&
      !links_->joiner.OnOpened(link, now, soundness.may_resume(),
                               soundness.may_catch_up() ? &state : nullptr,
                               &hello)) {
    return;  // of an older view
  }
  DescribeNode(*chain_.options, state, &hello);
  *chain_.outbox->Send(link).mutable_hello() = std::move(hello);
}

std::string HelloExchange::Refuse(LinkId link, const Hello& hello,
                                  absl::Time now) const {
  const ChainOptions& options = *chain_.options;
  const Place& place = *chain_.place;
  std::string refusal =
      RefuseStranger(options, chain_.record->state(), place.view, hello);
  if (refusal.empty() && options.identity_of != nullptr) {
    refusal =
        RefuseImpostor(options, place.view, hello, options.identity_of(link));
  }
  if (!refusal.empty()) return refusal;
  if (now < table_->PausedUntil(hello.node_id())) {
    return absl::StrCat(hello.node_id(),
                        " has sent an invalid message again; it has to wait "
                        "before it connects");
  }
  if (hello.purpose() == LINK_PURPOSE_TRANSFER) {
    const Soundness& soundness = data_->soundness;
    const bool may_give =
        place.is_tail() && soundness.condition() == Condition::kSound &&
        !data_->divergence.open() && soundness.no_damage_suspected();
    return links_->donor.Refuse(hello, place.view, may_give, now);
  }
  return RefuseNeighbour(options, chain_.record->state(), place, hello);
}

void HelloExchange::OnHello(LinkId link, const Hello& hello, absl::Time now) {
  std::string refusal = Refuse(link, hello, now);
  if (!refusal.empty()) {
    if (const auto end = told_refusals_.Take(now)) {
      LOG(WARNING) << "rejected a link: " << refusal << *end;
    }
    return chain_.outbox->Reject(link, std::move(refusal), /*behind=*/false);
  }
  switch (hello.purpose()) {
    case LINK_PURPOSE_TRANSFER:
      CheckResumed(hello);
      log_->history.OnApplied();
      return links_->donor.Begin(link, hello, log_->history.For(hello),
                                 data_->scrub.confirmed(), now);
    case LINK_PURPOSE_APPEND:
      return OnHelloAppend(link, hello, now);
    default:
      break;
  }
  links_->completions.Accept(link);
  SendSync(link);
}

void HelloExchange::OnHelloAppend(LinkId link, const Hello& hello,
                                  absl::Time now) {
  const bool behind = data_->soundness.behind();
  if (!data_->returning.OnHello(hello, behind)) {
    // It learns this node's position, and retries.
    SendSync(link);
    return chain_.outbox->Reject(
        link,
        absl::StrCat(chain_.options->node_id, " has received up to ",
                     chain_.ring->received(), " and applied up to ",
                     chain_.ring->applied(), ", you have applied up to ",
                     hello.applied(), " and cleaned up to ", hello.cleaned()),
        /*behind=*/false);
  }
  links_->upstream.Attach(link);
  log_->progress.CheckReturned();
  if (behind) {
    links_->joiner.CatchUpTo(hello.applied());
    log_->progress.CheckCaughtUp();
  }
  if (data_->neighbour_repair.torn()) {
    return log_->repair.Begin(link, RepairDirection::kForward, now);
  }
  SendSync(link);
}

void HelloExchange::CheckResumed(const Hello& hello) {
  const uint64_t sequence = hello.applied() + 1;
  if (!hello.resume() || sequence <= chain_.ring->cleaned() ||
      sequence > chain_.ring->applied()) {
    return;
  }
  const auto entry = LogEntry::Check(chain_.ring->EntryOf(sequence).bytes(),
                                     chain_.options->mode);
  if (entry.ok()) return;
  LOG(ERROR) << "mutation " << sequence
             << " is damaged in this node's ring: " << entry.status().message()
             << "; " << hello.node_id() << " has to begin anew";
  links_->donor.NoteUnreadable(sequence);
}

void HelloExchange::SendSync(LinkId link) {
  links_->SendSync(link, data_->soundness.behind());
}

}  // namespace kamino::replica
