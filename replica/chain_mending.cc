// Operations that a restart interrupted are mended by what a neighbour holds
// (Kamino-Tx, section 5.3): by the predecessor, which has executed them, or, at
// a node that is head now, by the successor, which has not.
//
// A neighbour that has operations of its own to mend answers all the same: they
// are others, and those in flight share no object.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "replica/chain_core.h"
#include "replica/mender.h"

namespace kamino::replica {

using engine::Intent;
using engine::IntentKind;
using engine::WriteSet;
using kamino::internal::v1::Fetch;
using kamino::internal::v1::Fetched;
using kamino::internal::v1::WriteIntent;
using membership::Condition;

namespace {

// Of one Fetch; a single intent may have more.
constexpr size_t kFetchBytes = 1u << 20;
constexpr int kFetchIntents = 1000;
// What one is answered at most; larger than any object.
constexpr uint64_t kMaxFetchedBytes = 4u << 20;

// Bytes that are needed of the neighbour.
uint32_t NeededBytes(const Intent& intent, Mend mend) {
  const bool goes =
      (intent.kind == IntentKind::kFree && mend == Mend::kForward) ||
      (intent.kind == IntentKind::kAlloc && mend == Mend::kBack);
  return goes ? 0 : intent.length;
}

}  // namespace

void ChainCore::BeginMending(LinkId link, Mend mend, absl::Time now,
                             Actions* actions) {
  mending_ = Mending();
  mending_.link = link;
  mending_.mend = mend;
  for (uint64_t last = ring_->applied(); last < ring_->received();) {
    const OperationRing::Entry entry = ring_->EntryOf(last + 1);
    last = entry.last;
    auto write_set = executor_->WriteSetOf(entry.operation);
    if (!write_set.ok()) return Fatal(write_set.status(), actions);
    mending_.intents.insert(mending_.intents.end(), write_set->begin(),
                            write_set->end());
  }
  Mender::Order(mend, &mending_.intents);
  absl::Status begun = executor_->BeginMending(mending_.intents);
  if (!begun.ok()) return Fatal(begun, actions);
  LOG(INFO) << "operations (" << ring_->applied() << ", " << ring_->received()
            << "] were interrupted; they are rolled "
            << (mend == Mend::kForward ? "forward by the predecessor"
                                       : "back by the successor");
  if (mending_.intents.empty()) return EndMending(actions);
  SendFetch(now, actions);
}

void ChainCore::SendFetch(absl::Time now, Actions* actions) {
  Message message = NewMessage();
  Fetch* fetch = message.mutable_fetch();
  fetch->set_number(++mending_.number);
  fetch->set_received(ring_->received());
  size_t bytes = 0;
  mending_.asked = mending_.done;
  while (mending_.asked < mending_.intents.size() &&
         fetch->intents_size() < kFetchIntents) {
    const Intent& intent = mending_.intents[mending_.asked];
    const uint32_t needed = NeededBytes(intent, mending_.mend);
    if (bytes > 0 && bytes + needed > kFetchBytes) break;
    bytes += needed;
    WriteIntent* piece = fetch->add_intents();
    piece->set_object(intent.object);
    piece->set_offset(intent.offset);
    piece->set_length(needed);
    piece->set_kind(static_cast<uint32_t>(intent.kind));
    ++mending_.asked;
  }
  mending_.ask_again_at = now + options_.fetch_timeout;
  Send(mending_.link, std::move(message), actions);
}

void ChainCore::OnFetch(LinkId link, const Fetch& fetch, Actions* actions) {
  if (!Belongs(link == predecessor_ || link == successor_.link)) return;
  // One that may lack something answers once it does not: it is asked again.
  // That its successor lacks more it knows from its Hello.
  const Condition now = condition();
  if (now != Condition::kSound && now != Condition::kTorn &&
      now != Condition::kReturned) {
    return;
  }
  if (returned_ && link == predecessor_) return;
  if (link == successor_.link) {
    auto later = FirstToTouch(fetch);
    if (!later.ok()) return Fatal(later.status(), actions);
    if (*later != 0) {
      return SendReject(
          link,
          absl::StrCat("mutations up to ", fetch.received(),
                       " were interrupted, but what they touch was touched "
                       "again by operation ",
                       *later, ": this is an old copy of the data"),
          /*behind=*/true, actions);
    }
  }
  Message message = NewMessage();
  Fetched* fetched = message.mutable_fetched();
  fetched->set_number(fetch.number());
  uint64_t bytes = 0;
  for (const WriteIntent& piece : fetch.intents()) {
    bytes += piece.length();
    const Intent intent{piece.object(), piece.offset(), piece.length(),
                        static_cast<IntentKind>(piece.kind())};
    absl::Status read =
        bytes <= kMaxFetchedBytes
            ? executor_->ReadIntent(intent, fetched->add_bytes())
            : absl::InvalidArgumentError("a Fetch asks for too much");
    if (read.ok()) continue;
    LOG(WARNING) << "a neighbour's Fetch is refused: " << read;
    return SendReject(link, std::string(read.message()), false, actions);
  }
  Send(link, std::move(message), actions);
}

absl::StatusOr<uint64_t> ChainCore::FirstToTouch(const Fetch& fetch) const {
  std::map<uint64_t, uint64_t> fetched;  // begin to end of each object's part
  for (const WriteIntent& piece : fetch.intents()) {
    uint64_t& end = fetched[piece.object()];
    end = std::max<uint64_t>(
        end, piece.object() + std::max<uint64_t>(1, uint64_t{piece.offset()} +
                                                        piece.length()));
  }
  for (uint64_t last = std::max(fetch.received(), ring_->cleaned());
       last < ring_->applied();) {
    const OperationRing::Entry entry = ring_->EntryOf(last + 1);
    last = entry.last;
    ASSIGN_OR_RETURN(auto write_set, executor_->WriteSetOf(entry.operation));
    for (const Intent& intent : write_set) {
      const uint64_t end =
          intent.object +
          std::max<uint64_t>(1, uint64_t{intent.offset} + intent.length);
      const auto next = fetched.lower_bound(end);
      if (next == fetched.begin()) continue;
      if (std::prev(next)->second > intent.object) return last;
    }
  }
  return 0;
}

void ChainCore::OnFetched(LinkId link, const Fetched& fetched, absl::Time now,
                          Actions* actions) {
  if (!torn_ || link != mending_.link || fetched.number() != mending_.number ||
      fetched.bytes_size() !=
          static_cast<int>(mending_.asked - mending_.done)) {
    return;  // an answer to what was asked again
  }
  for (const std::string& bytes : fetched.bytes()) {
    const Intent& intent = mending_.intents[mending_.done++];
    absl::Status mended = executor_->MendIntent(intent, bytes, mending_.mend);
    if (!mended.ok()) return Fatal(mended, actions);
  }
  if (mending_.done < mending_.intents.size()) return SendFetch(now, actions);
  EndMending(actions);
}

void ChainCore::EndMending(Actions* actions) {
  executor_->EndMending();
  const Mend mend = mending_.mend;
  const LinkId link = mending_.link;
  mending_ = Mending();
  torn_ = false;
  if (mend == Mend::kBack) return ExecuteReceived(actions);
  ring_->MarkApplied(ring_->received());
  SendSync(link, actions);
  AfterApplied(actions);
}

}  // namespace kamino::replica
