#include "replica/repair/neighbour_repair.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "replica/state/object_repair.h"

namespace kamino::replica {

using engine::Intent;
using engine::IntentKind;
using engine::WriteSet;
using kamino::internal::v1::Fetch;
using kamino::internal::v1::Fetched;
using kamino::internal::v1::WriteIntent;

namespace {

// Limit of one Fetch; a single intent may have more.
constexpr size_t kFetchBytes = 1u << 20;
constexpr int kFetchIntents = 1000;
// Limit of one answer; larger than any object.
constexpr uint64_t kMaxFetchedBytes = 4u << 20;

// Bytes needed from the neighbour.
uint32_t NeededBytes(const Intent& intent, RepairDirection direction) {
  const bool goes = (intent.kind == IntentKind::kFree &&
                     direction == RepairDirection::kForward) ||
                    (intent.kind == IntentKind::kAlloc &&
                     direction == RepairDirection::kBack);
  return goes ? 0 : intent.length;
}

}  // namespace

// --- At the node that was interrupted.

NeighbourRepair::NeighbourRepair(const LogRing* ring, Executor* executor,
                                 Outbox* outbox, absl::Duration fetch_timeout)
    : ring_(ring),
      executor_(executor),
      outbox_(outbox),
      fetch_timeout_(fetch_timeout),
      state_(ring->applied() < ring->received() ? State::kTorn : State::kWhole),
      interrupted_(torn()) {}

NeighbourRepair::Repaired NeighbourRepair::Begin(LinkId link,
                                                 RepairDirection direction,
                                                 absl::Time now) {
  if (!torn()) return std::nullopt;
  state_ = State::kFetching;
  link_ = link;
  direction_ = direction;
  asking_ = Asking();
  auto intents = Interrupted();
  if (!intents.ok()) {
    outbox_->Fail(intents.status());
    return std::nullopt;
  }
  absl::Status begun = executor_->BeginRepair(*intents, interrupted_);
  if (!begun.ok()) {
    outbox_->Fail(begun);
    return std::nullopt;
  }
  asking_.intents = *std::move(intents);
  ObjectRepair::Order(direction, &asking_.intents);
  LOG(INFO) << "mutations (" << ring_->applied() << ", " << ring_->received()
            << "] were interrupted" << (untouched_ ? " at another node" : "")
            << "; they are rolled "
            << (direction == RepairDirection::kForward
                    ? "forward by the predecessor"
                    : "back by the successor");
  if (asking_.intents.empty()) return End();
  SendFetch(now);
  return std::nullopt;
}

NeighbourRepair::Repaired NeighbourRepair::Adopt(LinkId link, absl::Time now) {
  state_ = State::kTorn;
  untouched_ = true;
  return Begin(link, RepairDirection::kForward, now);
}

absl::StatusOr<WriteSet> NeighbourRepair::Interrupted() const {
  WriteSet intents;
  for (uint64_t last = ring_->applied(); last < ring_->received();) {
    const LogEntry entry = ring_->EntryOf(last + 1);
    last = entry.last();
    ASSIGN_OR_RETURN(auto write_set, entry.WriteSet());
    intents.insert(intents.end(), write_set.begin(), write_set.end());
  }
  return intents;
}

void NeighbourRepair::SendFetch(absl::Time now) {
  Fetch* fetch = outbox_->Send(link_).mutable_fetch();
  fetch->set_number(++asking_.number);
  fetch->set_received(ring_->received());
  size_t bytes = 0;
  asking_.asked = asking_.done;
  while (asking_.asked < asking_.intents.size() &&
         fetch->intents_size() < kFetchIntents) {
    const Intent& intent = asking_.intents[asking_.asked];
    const uint32_t needed = NeededBytes(intent, direction_);
    if (bytes > 0 && bytes + needed > kFetchBytes) break;
    bytes += needed;
    WriteIntent* piece = fetch->add_intents();
    piece->set_object(intent.object);
    piece->set_offset(intent.offset);
    piece->set_length(needed);
    piece->set_kind(static_cast<uint32_t>(intent.kind));
    ++asking_.asked;
  }
  asking_.again_at = now + fetch_timeout_;
}

NeighbourRepair::Repaired NeighbourRepair::OnFetched(LinkId link,
                                                     const Fetched& fetched,
                                                     absl::Time now) {
  if (!Asks(link) || fetched.number() != asking_.number ||
      fetched.bytes_size() != static_cast<int>(asking_.asked - asking_.done)) {
    return std::nullopt;  // an answer to an old question
  }
  for (const std::string& bytes : fetched.bytes()) {
    const Intent& intent = asking_.intents[asking_.done++];
    absl::Status repaired = executor_->RepairIntent(intent, bytes, direction_);
    if (absl::IsInvalidArgument(repaired)) {
      outbox_->ProtocolError(link, std::string(repaired.message()));
      return std::nullopt;
    }
    untouched_ = false;
    if (!repaired.ok()) {
      outbox_->Fail(repaired);
      return std::nullopt;
    }
  }
  if (asking_.done == asking_.intents.size()) return End();
  SendFetch(now);
  return std::nullopt;
}

bool NeighbourRepair::IsConfirmed() const {
  if (direction_ != RepairDirection::kForward) return false;
  for (uint64_t last = ring_->applied(); last < ring_->received();) {
    const LogEntry entry = ring_->EntryOf(last + 1);
    last = entry.last();
    if (entry.image_hash() == 0) return false;
    const auto hash = executor_->HashImage(entry);
    if (!hash.ok()) return false;
    if (*hash != entry.image_hash()) {
      LOG(WARNING) << "a neighbour's repair of mutations " << entry.first()
                   << " to " << last << " differs from the head's result";
      return false;
    }
  }
  return true;
}

NeighbourRepair::Repaired NeighbourRepair::End() {
  executor_->EndRepair(IsConfirmed());
  Forget();
  return direction_;
}

void NeighbourRepair::OnTick(absl::Time now) {
  if (state_ == State::kFetching && now >= asking_.again_at) SendFetch(now);
}

void NeighbourRepair::OnLinkClosed(LinkId link) {
  if (Asks(link)) Leave();
}

void NeighbourRepair::Leave() {
  if (untouched_) return Forget();
  if (state_ == State::kFetching) state_ = State::kTorn;
  interrupted_ = true;  // part of the adopted entries is taken over
  asking_ = Asking();
}

void NeighbourRepair::Forget() {
  state_ = State::kWhole;
  untouched_ = false;
  interrupted_ = false;
  asking_ = Asking();
}

void NeighbourRepair::Tear() {
  state_ = State::kTorn;
  interrupted_ = true;
  asking_ = Asking();
}

// --- At its neighbour.

void RepairSource::AnswerSuccessor(LinkId link, const Fetch& fetch) {
  auto later = FirstToTouch(fetch);
  if (!later.ok()) return outbox_->Fail(later.status());
  if (*later == 0) return Answer(link, fetch);
  outbox_->Reject(
      link,
      absl::StrCat("mutations up to ", fetch.received(),
                   " were interrupted, but what they touch was touched "
                   "again by mutation ",
                   *later,
                   ": they are complete, or this is an old copy of the data"),
      /*behind=*/true);
}

void RepairSource::Answer(LinkId link, const Fetch& fetch) {
  Fetched fetched;
  fetched.set_number(fetch.number());
  uint64_t bytes = 0;
  for (const WriteIntent& piece : fetch.intents()) {
    bytes += piece.length();
    const Intent intent{piece.object(), piece.offset(), piece.length(),
                        static_cast<IntentKind>(piece.kind())};
    absl::Status read =
        bytes <= kMaxFetchedBytes
            ? executor_->ReadIntent(intent, fetched.add_bytes())
            : absl::InvalidArgumentError("a Fetch asks for too much");
    if (read.ok()) continue;
    LOG(WARNING) << "a neighbour's Fetch is refused: " << read;
    return outbox_->Reject(link, std::string(read.message()), false);
  }
  *outbox_->Send(link).mutable_fetched() = std::move(fetched);
}

absl::StatusOr<uint64_t> RepairSource::FirstToTouch(const Fetch& fetch) const {
  std::map<uint64_t, uint64_t> fetched;  // begin to end of each object's part
  for (const WriteIntent& piece : fetch.intents()) {
    uint64_t& end = fetched[piece.object()];
    end = std::max<uint64_t>(
        end, piece.object() + std::max<uint64_t>(1, uint64_t{piece.offset()} +
                                                        piece.length()));
  }
  for (uint64_t last = std::max(fetch.received(), ring_->cleaned());
       last < ring_->applied();) {
    const LogEntry entry = ring_->EntryOf(last + 1);
    last = entry.last();
    ASSIGN_OR_RETURN(auto write_set, entry.WriteSet());
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

}  // namespace kamino::replica
