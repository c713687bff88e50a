#include "replica/link/upstream.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "replica/log/log_entry.h"
#include "replica/state/local_undo.h"

namespace kamino::replica {

using kamino::internal::v1::Sync;

namespace {

// An acknowledgement waits at most for so many bytes of log entries, or of a
// ring.
constexpr uint64_t kMuchBytes = 1u << 20;
constexpr uint64_t kMuchOf = 4;  // one part in so many

}  // namespace

void Upstream::Attach(LinkId link) {
  if (link != link_) outbox_->Close(link_);
  link_ = link;
  state_ = State::kInOrder;
  last_paid_ = absl::InfinitePast();
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

void Upstream::FallBehind() {
  // Entries behind a gap are lost; one Sync suffices.
  if (state_ != State::kGap) owed_.sync = true;
  state_ = State::kGap;
}

std::string Upstream::ProtocolErrorOf(
    const absl::StatusOr<LogEntry>& entry) const {
  if (!entry.ok()) return std::string(entry.status().message());
  if (entry->chain_id() != options_.chain_id) {
    return absl::StrCat("a log entry is of chain ", entry->chain_id());
  }
  if (entry->view_id() > outbox_->view_id()) {
    return absl::StrCat("a log entry is of view ", entry->view_id(),
                        ", in view ", outbox_->view_id());
  }
  if (entry->first() <= ring_->received() &&
      entry->last() > ring_->received()) {
    return absl::StrCat(
        "a log entry of mutations ", entry->first(), " to ", entry->last(),
        " begins before the end of what was received, ", ring_->received());
  }
  if (entry->bytes().size() > ring_->space().max_entry()) {
    return absl::StrCat("a log entry has ", entry->bytes().size(),
                        " bytes; the ring takes at most ",
                        ring_->space().max_entry());
  }
  if (options_.heap_bytes != 0 && !entry->IsWithin(options_.heap_bytes)) {
    return absl::StrCat("a log entry writes beyond the heap's ",
                        options_.heap_bytes, " bytes");
  }
  if (RollsBackAlone(options_.mode)) {
    const auto write_set = entry->WriteSet();
    const absl::Status held =
        write_set.ok() ? CheckUndoLogsHold(*write_set, ring_->space().total())
                       : write_set.status();
    if (!held.ok()) return std::string(held.message());
  }
  return "";
}

bool Upstream::Take(absl::string_view bytes, bool may_append) {
  if (!attached()) return false;
  const absl::StatusOr<LogEntry> entry = LogEntry::Check(bytes, options_.mode);
  if (std::string why = ProtocolErrorOf(entry); !why.empty()) {
    // The neighbour learns by the next link's Sync where to resume.
    outbox_->ProtocolError(link_, std::move(why));
    return false;
  }
  if (entry->first() <= ring_->received()) {
    owed_.ack = true;  // it was sent twice; the first one counts
    return false;
  }
  if (!may_append) {
    state_ = State::kGap;
    return false;
  }
  if (entry->first() != ring_->received() + 1) {
    FallBehind();
    return false;
  }
  absl::Status appended = ring_->Append(*entry);
  if (absl::IsResourceExhausted(appended)) {
    owed_.sync_once_cleaned = true;
    state_ = State::kGap;
    return false;
  }
  if (!appended.ok()) {
    outbox_->Fail(absl::DataLossError(
        absl::StrCat("mutation ", entry->first(), ": ", appended.message())));
    return false;
  }
  if (options_.on_appended) {
    options_.on_appended(ring_->EntryOf(entry->first()));
  }
  state_ = State::kInOrder;
  owed_.ack = true;
  ++owed_.entries;
  owed_.bytes += bytes.size();
  return true;
}

void Upstream::AskAgain() {
  if (state_ == State::kGap) owed_.sync = true;
}

void Upstream::OnCleaned() {
  owed_.clean_up = true;
  if (std::exchange(owed_.sync_once_cleaned, false)) owed_.sync = true;
}

bool Upstream::OwesMuch() const {
  return owed_.bytes >= kMuchBytes ||
         owed_.entries >= options_.window_entries / kMuchOf ||
         ring_->space().used() >= ring_->space().total() / kMuchOf;
}

void Upstream::Acknowledge(bool behind, absl::Time now) {
  if (!attached()) return;
  if (owed_.sync) {
    SendSync(link_, behind);
  } else if (!owed_.ack && !owed_.clean_up) {
    return;
  } else if (now < last_paid_ + options_.ack_delay && !OwesMuch()) {
    return;
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
  owed_.entries = owed_.bytes = 0;
  last_paid_ = now;
}

Sync* Upstream::SendSync(LinkId link, bool behind) {
  Sync* sync = outbox_->Send(link).mutable_sync();
  sync->set_received(ring_->received());
  sync->set_applied(ring_->applied());
  sync->set_cleaned(ring_->cleaned());
  sync->set_behind(behind);
  return sync;
}

}  // namespace kamino::replica
