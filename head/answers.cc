// The part of Admission that answers requests.
#include <algorithm>
#include <utility>

#include "head/admission.h"
#include "replica/errors.h"

namespace kamino::head {

using replica::MakeError;

RequestOutcome Admission::IfStillHead(RequestOutcome outcome) const {
  if (options_.lease_valid()) return outcome;
  return {MakeError(kamino::v1::REASON_RECONFIGURING,
                    "the head holds no lease of the manager now"),
          "", 0};
}

void Admission::Answer(Request& request, RequestOutcome outcome) {
  const HeadTimes times(now_, &request.waits, /*flight=*/nullptr);
  RequestOutcome told = IfStillHead(std::move(outcome));
  if (tells_slow_) told.times = &times;
  request.done(std::move(told));
}

void Admission::AnswerWhatItSaw(Request& request, RequestOutcome outcome) {
  if (!options_.pipelines || in_flight_.empty()) {
    return Answer(request, std::move(outcome));
  }
  result_bytes_ += outcome.result.size();
  in_flight_.rbegin()->second.waiters.push_back(
      {std::move(request.done), std::move(outcome), request.waits,
       /*by_itself=*/true});
}

void Admission::Answer(Waiter* waiter, const Flight& flight) {
  // Even if earlier entries are completed, this node may not have been head any
  // more when it executed the request.
  if (waiter->by_itself) {
    waiter->outcome = IfStillHead(std::move(waiter->outcome));
  }
  const HeadTimes times(now_, &waiter->waits,
                        waiter->by_itself ? nullptr : &flight);
  if (tells_slow_) waiter->outcome.times = &times;
  waiter->done(std::move(waiter->outcome));
}

void Admission::OnCompleted(uint64_t sequence) {
  completed_ = std::max(completed_, sequence);
  while (!in_flight_.empty() && in_flight_.begin()->first <= sequence) {
    auto node = in_flight_.extract(in_flight_.begin());
    for (Waiter& waiter : node.mapped().waiters) {
      result_bytes_ -= waiter.outcome.result.size();
      Answer(&waiter, node.mapped());
    }
    store_->ReleaseHold(node.key());
  }
}

size_t Admission::PropagateToBackup(size_t max) {
  return store_->PropagateToBackup(max);
}

}  // namespace kamino::head
