#include "node/session/pending_requests.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "logs/trace.h"

namespace kamino::node {

std::string RequestName(uint64_t session, uint64_t number) {
  return number == 0 ? "" : absl::StrCat(session, "/", number);
}

PendingRequest& PendingRequests::Add(const session::Request& request,
                                     absl::Time now) {
  PendingRequest& pending = by_tag_[request.tag];
  pending.bytes = request.body.size();
  pending.method = request.method;
  pending.began = now;
  pending.number = request.number;
  if (!trace_.empty() && trace_tag_ == request.tag) {
    pending.trace =
        std::make_unique<const std::string>(std::exchange(trace_, ""));
  }
  bytes_ += request.body.size();
  return pending;
}

PendingRequest* PendingRequests::Find(uint32_t tag) {
  const auto found = by_tag_.find(tag);
  return found == by_tag_.end() ? nullptr : &found->second;
}

std::string PendingRequests::NameOf(uint32_t tag, uint64_t session) {
  const PendingRequest* const asked = Find(tag);
  return asked == nullptr ? "" : RequestName(session, asked->number);
}

std::optional<PendingRequest> PendingRequests::Take(uint32_t tag) {
  const auto found = by_tag_.find(tag);
  if (found == by_tag_.end()) return std::nullopt;
  PendingRequest taken = std::move(found->second);
  by_tag_.erase(found);
  bytes_ -= taken.bytes;
  return taken;
}

void PendingRequests::Cancel(uint32_t tag) {
  PendingRequest* const found = Find(tag);
  if (found != nullptr) *found->cancelled = true;
}

void PendingRequests::KeepTrace(const session::Request& trace) {
  // An invalid traceparent is ignored, as W3C requires.
  trace_tag_ = trace.tag;
  trace_ = logs::IsTraceparent(trace.body) ? std::string(trace.body) : "";
}

}  // namespace kamino::node
