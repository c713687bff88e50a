#include "replica/link/downstream.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kamino::replica {

using kamino::internal::v1::Append;
using kamino::internal::v1::Hello;
using kamino::internal::v1::LINK_PURPOSE_APPEND;

namespace {

// Limit of unacknowledged log entries on their way to the successor.
constexpr uint64_t kWindowBytes = 16u << 20;

std::string WithinAnEntry(uint64_t cursor) {
  return absl::StrCat("a cursor at mutation ", cursor, " is within an entry");
}

}  // namespace

Downstream::Downstream(const ChainOptions& options, const LogRing* ring,
                       Outbox* outbox)
    : options_(options),
      ring_(ring),
      outbox_(outbox),
      dialer_(options, LINK_PURPOSE_APPEND, outbox) {}

void Downstream::Enter(const membership::Member& successor, absl::Time now) {
  compare_.reset();
  state_ = State::kProbe;
  dialer_.Aim(successor, now);
  dialer_.OnTick(now);
}

void Downstream::Join(LinkId link) {
  state_ = State::kSnapshot;
  most_sent_ = 0;
  dialer_.Adopt(link);
}

void Downstream::Leave() {
  compare_.reset();
  diverges_ = false;
  state_ = State::kNone;
  dialer_.Leave();
}

bool Downstream::OnOpened(LinkId link, absl::Time now, Hello* hello) {
  if (!dialer_.OnOpened(link, now)) return false;
  most_sent_ = 0;
  hello->set_purpose(LINK_PURPOSE_APPEND);
  hello->set_applied(ring_->applied());
  hello->set_cleaned(ring_->cleaned());
  return true;
}

void Downstream::OnClosed(LinkId link, absl::Time now) {
  if (!dialer_.OnClosed(link, now)) return;
  if (joins()) return Leave();
  compare_.reset();
  state_ = State::kProbe;
}

void Downstream::OnRejected(LinkId link, absl::Time now) {
  if (!Has(link) || joins()) return;
  dialer_.Retry(now);
  compare_.reset();
  state_ = State::kProbe;
}

void Downstream::OnTick(absl::Time now) { dialer_.OnTick(now); }

void Downstream::ContinueAfter(uint64_t sequence) {
  if (link() == kNoLink) return;
  dialer_.Establish();
  state_ = joins() ? State::kFollow : State::kReplicate;
  sent_ = acked_ = sequence;
  most_sent_ = std::max(most_sent_, sequence);
  sent_bytes_ = sent_entries_ = 0;
}

void Downstream::OnAppendAck(uint64_t received) {
  if (!replicates()) return;
  if (received > most_sent_) {
    return outbox_->ProtocolError(
        link(), absl::StrCat("mutations up to ", received,
                             " are acknowledged, but only up to ", most_sent_,
                             " were sent"));
  }
  // Acknowledgements come before clean-ups, so the entries are still here.
  acked_ = std::max(acked_, std::min(ring_->cleaned(), sent_));
  while (acked_ < std::min(received, sent_)) {
    const LogEntry entry = ring_->EntryOf(acked_ + 1);
    if (entry.last() > received) {  // within an entry
      return outbox_->ProtocolError(link(), WithinAnEntry(received));
    }
    acked_ = entry.last();
    sent_bytes_ -= std::min<uint64_t>(sent_bytes_, entry.bytes().size());
    sent_entries_ -= std::min<uint64_t>(sent_entries_, 1);
  }
  if (acked_ == sent_) sent_bytes_ = sent_entries_ = 0;
}

bool Downstream::OnCleaned(uint64_t cleaned) {
  const bool can_have = cleaned <= most_sent_ && (cleaned <= ring_->cleaned() ||
                                                  ring_->EndsEntry(cleaned));
  if (!can_have) {
    outbox_->ProtocolError(
        link(), cleaned <= most_sent_
                    ? WithinAnEntry(cleaned)
                    : absl::StrCat("mutations up to ", cleaned,
                                   " are cleaned, but only up to ", most_sent_,
                                   " were sent"));
    return false;
  }
  // It received them before it asked for some of them again.
  if (cleaned > sent_) {
    sent_ = acked_ = cleaned;
    sent_bytes_ = sent_entries_ = 0;
  }
  return true;
}

void Downstream::SendInOrder(kamino::internal::v1::Compare compare) {
  if (state_ != State::kReplicate || sent_ > compare.position()) return;
  compare_ = std::move(compare);
}

void Downstream::SendCompareIfDue() {
  if (!compare_.has_value() || sent_ < compare_->position()) return;
  if (sent_ == compare_->position()) {
    *outbox_->Send(link()).mutable_compare() = *std::move(compare_);
  }
  compare_.reset();
}

void Downstream::Pump(const QuarantinedRange& quarantined) {
  if (!replicates()) return;
  SendCompareIfDue();
  while (sent_ < ring_->applied() && sent_entries_ < options_.window_entries &&
         sent_bytes_ < kWindowBytes) {
    const LogEntry entry = ring_->EntryOf(sent_ + 1);
    sent_ = entry.last();
    most_sent_ = std::max(most_sent_, sent_);
    sent_bytes_ += entry.bytes().size();
    ++sent_entries_;
    Append* append = outbox_->SendEntry(link(), entry);
    // The chain does not wait for a joining node, so entries that it lacks may
    // be complete.
    append->set_deadly(quarantined.Has(entry) && !joins());
    SendCompareIfDue();
  }
}

}  // namespace kamino::replica
