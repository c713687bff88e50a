#include "replica/upstream.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace kamino::replica {

using kamino::internal::v1::Append;
using kamino::internal::v1::Sync;

void Upstream::Attach(LinkId link) {
  if (link != link_) outbox_->Close(link_);
  link_ = link;
  state_ = State::kInOrder;
}

void Upstream::Detach() {
  link_ = kNoLink;
  state_ = State::kApart;
}

void Upstream::OnClosed(LinkId link) {
  if (link == link_) Detach();
}

void Upstream::Leave() {
  outbox_->Close(link_);
  Detach();
  owed_ = Owed();
}

bool Upstream::Take(const Append& append, bool may_append) {
  if (!attached()) return false;
  // A mutation takes a byte at least.
  if (append.first() == 0 || append.count() == 0 ||
      append.count() > append.operation().size()) {
    outbox_->CountMalformed();
    return false;
  }
  if (append.first() <= ring_->received()) {
    owed_.ack = true;  // sent twice; the first one counts
    return false;
  }
  if (!may_append) {
    state_ = State::kGap;
    return false;
  }
  if (append.first() != ring_->received() + 1) {
    // What is on its way behind a gap is lost on us; one Sync is enough.
    if (state_ != State::kGap) owed_.sync = true;
    state_ = State::kGap;
    return false;
  }
  absl::Status appended =
      ring_->Append(append.first(), append.count(), append.operation());
  if (absl::IsResourceExhausted(appended)) {
    owed_.sync_once_cleaned = true;
    state_ = State::kGap;
    return false;
  }
  if (!appended.ok()) {
    outbox_->Fail(absl::DataLossError(
        absl::StrCat("operation ", append.first(), ": ", appended.message())));
    return false;
  }
  if (options_.on_appended) {
    options_.on_appended(ring_->EntryOf(append.first()));
  }
  state_ = State::kInOrder;
  owed_.ack = true;
  return true;
}

void Upstream::AskAgain() {
  if (state_ == State::kGap) owed_.sync = true;
}

void Upstream::OnCleaned() {
  owed_.clean_up = true;
  if (std::exchange(owed_.sync_once_cleaned, false)) owed_.sync = true;
}

void Upstream::Acknowledge(bool behind) {
  if (!attached()) return;
  if (owed_.sync) {
    SendSync(link_, behind);
  } else {
    if (owed_.ack) {
      outbox_->Send(link_).mutable_append_ack()->set_received(
          ring_->received());
    }
    if (owed_.clean_up) {
      outbox_->Send(link_).mutable_clean_up()->set_cleaned(ring_->cleaned());
    }
  }
  owed_.sync = owed_.ack = owed_.clean_up = false;
}

void Upstream::SendSync(LinkId link, bool behind) {
  Sync* sync = outbox_->Send(link).mutable_sync();
  sync->set_received(ring_->received());
  sync->set_applied(ring_->applied());
  sync->set_cleaned(ring_->cleaned());
  sync->set_behind(behind);
}

}  // namespace kamino::replica
