#include "replica/link/completions.h"

#include <algorithm>

namespace kamino::replica {

using kamino::internal::v1::Hello;
using kamino::internal::v1::LINK_PURPOSE_COMPLETION;

Completions::Completions(const ChainOptions& options, uint64_t completed,
                         Outbox* outbox)
    : outbox_(outbox),
      dialer_(options, LINK_PURPOSE_COMPLETION, outbox),
      completed_(completed) {}

LinkId Completions::link() const {
  return state_ == State::kTail ? dialer_.link() : accepted_;
}

bool Completions::connected() const {
  return state_ == State::kTail ? dialer_.established() : accepted_ != kNoLink;
}

void Completions::EnterAsTail(const membership::Member& head, absl::Time now) {
  state_ = State::kTail;
  dialer_.Aim(head, now);
  dialer_.OnTick(now);
}

void Completions::Leave() {
  dialer_.Leave();
  outbox_->Close(accepted_);
  accepted_ = kNoLink;
  state_ = State::kOff;
  owes_ = false;
}

void Completions::OnClosed(LinkId link, absl::Time now) {
  if (link == accepted_) accepted_ = kNoLink;
  dialer_.OnClosed(link, now);
}

bool Completions::OnOpened(LinkId link, absl::Time now, Hello* hello) {
  if (!dialer_.OnOpened(link, now)) return false;
  hello->set_purpose(LINK_PURPOSE_COMPLETION);
  return true;
}

void Completions::OnRejected(LinkId link, absl::Time now) {
  if (dialer_.Has(link)) dialer_.Retry(now);
}

bool Completions::OnSync(LinkId link) {
  if (!dialer_.Has(link)) return false;
  dialer_.Establish();
  owes_ = true;
  return true;
}

void Completions::Report(uint64_t applied) {
  if (!owes_ || !dialer_.established()) return;
  outbox_->Send(dialer_.link()).mutable_completion()->set_applied(applied);
  owes_ = false;
}

void Completions::Accept(LinkId link) {
  if (link != accepted_) outbox_->Close(accepted_);
  accepted_ = link;
}

void Completions::CompleteTo(uint64_t sequence) {
  if (sequence <= completed_) return;
  completed_ = sequence;
  outbox_->Complete(sequence);
}

void Completions::Know(uint64_t completed) {
  completed_ = std::max(completed_, completed);
}

}  // namespace kamino::replica
