#include "head/waiting_requests.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kamino::head {
namespace {

void TakeOut(std::deque<Request>* requests,
             absl::FunctionRef<bool(const Request&)> gone,
             std::vector<Request>* taken) {
  const auto begin = std::stable_partition(
      requests->begin(), requests->end(),
      [&gone](const Request& request) { return !gone(request); });
  std::move(begin, requests->end(), std::back_inserter(*taken));
  requests->erase(begin, requests->end());
}

}  // namespace

absl::Status CheckAwaited(const Request& request, absl::Time now) {
  if (now >= request.deadline) {
    return absl::DeadlineExceededError(
        "the request waited too long at the head and was not executed");
  }
  if (request.abandoned != nullptr && request.abandoned()) {
    return absl::CancelledError(
        "the client gave the request up; it was not executed");
  }
  return absl::OkStatus();
}

void WaitingRequests::PutBack(std::vector<Request>* batch, size_t begin) {
  ready_.insert(ready_.begin(), std::make_move_iterator(batch->begin() + begin),
                std::make_move_iterator(batch->end()));
  batch->resize(begin);
}

absl::Duration EndParking(Request* request, absl::Time now) {
  const absl::Duration lock = now - request->parked;
  request->is_parked = false;
  request->waits.lock += lock;
  ++request->waits.parked;
  return lock;
}

void WaitingRequests::Park(engine::ObjectId object, Request request,
                           absl::Time now) {
  request.parked = now;
  request.is_parked = true;
  parked_[object].push_back(std::move(request));
  ++parked_count_;
}

void WaitingRequests::OnUnlocked(absl::Span<const engine::ObjectId> objects) {
  for (engine::ObjectId object : objects) {
    auto found = parked_.find(object);
    if (found == parked_.end()) continue;
    std::move(found->second.begin(), found->second.end(),
              std::back_inserter(ready_));
    parked_count_ -= found->second.size();
    parked_.erase(found);
  }
}

Request WaitingRequests::TakeNext() {
  std::deque<Request>& from = alone_.empty() ? ready_ : alone_;
  Request request = std::move(from.front());
  from.pop_front();
  return request;
}

std::vector<Request> WaitingRequests::TakeIf(
    absl::FunctionRef<bool(const Request&)> gone) {
  std::vector<Request> taken;
  TakeOut(&alone_, gone, &taken);
  TakeOut(&ready_, gone, &taken);
  for (auto it = parked_.begin(); it != parked_.end();) {
    parked_count_ -= it->second.size();
    TakeOut(&it->second, gone, &taken);
    parked_count_ += it->second.size();
    it = it->second.empty() ? parked_.erase(it) : std::next(it);
  }
  return taken;
}

}  // namespace kamino::head
