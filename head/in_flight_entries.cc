#include "head/in_flight_entries.h"

#include <algorithm>
#include <utility>

#include "replica/errors.h"

namespace kamino::head {

using replica::MakeError;

InFlightEntries::InFlightEntries(HeadContext* context) : context_(context) {}

void InFlightEntries::Begin(uint64_t completed) { completed_ = completed; }

void InFlightEntries::Add(uint64_t last, Request* request,
                          RequestOutcome outcome) {
  ++requests_;
  result_bytes_ += outcome.result.size();
  entries_[last].waiters.push_back(
      {std::move(request->done), std::move(outcome), request->waits});
}

bool InFlightEntries::AwaitCompletion(
    uint64_t sequence, absl::AnyInvocable<void(RequestOutcome)> done) {
  const auto entry = entries_.lower_bound(sequence);
  if (sequence <= completed_ || entry == entries_.end()) return false;
  Waiter waiter;
  waiter.by_itself = true;
  waiter.done = std::move(done);
  entry->second.waiters.push_back(std::move(waiter));
  return true;
}

void InFlightEntries::AnswerAll(const absl::Status& status) {
  for (auto& [sequence, entry] : entries_) {
    for (Waiter& waiter : entry.waiters) waiter.done({status, "", 0});
  }
  entries_.clear();
  requests_ = 0;
}

RequestOutcome InFlightEntries::IfStillHead(RequestOutcome outcome) const {
  if (context_->options.lease_valid()) return outcome;
  return {MakeError(kamino::v1::REASON_RECONFIGURING,
                    "the head holds no lease of the manager now"),
          "", 0};
}

void InFlightEntries::Answer(Request& request, RequestOutcome outcome) {
  const HeadTimes times(now_, &request.waits, /*entry=*/nullptr);
  RequestOutcome told = IfStillHead(std::move(outcome));
  if (tells_slow_) told.times = &times;
  request.done(std::move(told));
}

void InFlightEntries::AnswerOnceCompleted(Request& request,
                                          RequestOutcome outcome) {
  if (!context_->options.pipelines || entries_.empty()) {
    return Answer(request, std::move(outcome));
  }
  result_bytes_ += outcome.result.size();
  entries_.rbegin()->second.waiters.push_back(
      {std::move(request.done), std::move(outcome), request.waits,
       /*by_itself=*/true});
}

void InFlightEntries::Answer(Waiter* waiter, const Entry& entry) {
  // Even if earlier entries are completed, this node may not have been head any
  // more when it executed the request.
  if (waiter->by_itself) {
    waiter->outcome = IfStillHead(std::move(waiter->outcome));
  }
  const HeadTimes times(now_, &waiter->waits,
                        waiter->by_itself ? nullptr : &entry);
  if (tells_slow_) waiter->outcome.times = &times;
  waiter->done(std::move(waiter->outcome));
}

void InFlightEntries::OnCompleted(uint64_t sequence) {
  completed_ = std::max(completed_, sequence);
  while (!entries_.empty() && entries_.begin()->first <= sequence) {
    auto node = entries_.extract(entries_.begin());
    for (Waiter& waiter : node.mapped().waiters) {
      result_bytes_ -= waiter.outcome.result.size();
      if (!waiter.by_itself) --requests_;
      Answer(&waiter, node.mapped());
    }
    context_->store->ReleaseHold(node.key());
  }
}

void InFlightEntries::BeginTurn(absl::Time now) {
  now_ = now;
  tells_slow_ = context_->options.stages != nullptr &&
                context_->options.stages->last_entry() != nullptr;
  const uint64_t acknowledged = context_->core->links().downstream.acked();
  if (!tells_slow_ || !context_->core->links().downstream.replicates()) return;
  if (acknowledged <= acknowledged_) return;
  for (auto it = entries_.upper_bound(acknowledged_);
       it != entries_.end() && it->first <= acknowledged; ++it) {
    it->second.acknowledged = now;
  }
  acknowledged_ = acknowledged;
}

void InFlightEntries::NoteEntry(uint64_t last, uint32_t together) {
  const auto found = entries_.find(last);
  if (!tells_slow_ || found == entries_.end()) return;
  const replica::StageWatch::Entry* const entry =
      context_->options.stages->last_entry();
  if (entry == nullptr) return;  // gone already
  found->second.together = together;
  found->second.entry = *entry;
}

RequestTimes InFlightEntries::HeadTimes::Times() const {
  RequestTimes times;
  times.waits = *waits_;
  times.answered = answered;
  if (entry_ == nullptr || entry_->together == 0) return times;
  const auto since = [this](absl::Time then) {
    return std::max(absl::ZeroDuration(), then - entry_->entry.ended);
  };
  times.together = entry_->together;
  times.execute = entry_->entry.execute;
  times.persist = entry_->entry.persist;
  if (entry_->acknowledged != absl::InfiniteFuture()) {
    times.hop = since(entry_->acknowledged);
  }
  times.complete = since(answered);
  return times;
}

}  // namespace kamino::head
