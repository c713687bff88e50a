// Of a session's connection, by which its requests are known, and how long they
// took: counted, and told of where that was long.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "logs/trace.h"
#include "node/session/session_connection.h"
#include "node/session/session_metrics.h"

namespace kamino::node {

const SessionConnection::Pending* SessionConnection::FindPending(
    uint32_t tag) const {
  const auto found = pending_.find(tag);
  return found == pending_.end() ? nullptr : &found->second;
}

void SessionConnection::TakeTrace(const session::Request& trace) {
  // What is none is left out, as W3C has it.
  trace_tag_ = trace.tag;
  trace_ = logs::IsTraceparent(trace.body) ? std::string(trace.body) : "";
}

std::string SessionConnection::RequestNameOf(uint64_t number) const {
  return number == 0 ? "" : absl::StrCat(session_id_, "/", number);
}

void SessionConnection::CountAnswered() {
  const absl::Time now = node_->Now();
  for (const Answered& each : answered_) {
    const absl::Duration took = now - each.began;
    CountSessionRequest(each.method, each.code, took);
    if (node_->slow().IsSlow(took)) TellSlow(each, now);
  }
  answered_.clear();
  slow_.clear();
}

void SessionConnection::KeepForSlow(Pending* asked, size_t answer_bytes,
                                    const head::RequestTimes* times) {
  answered_.back().slow = static_cast<int>(slow_.size());
  MaybeSlow& kept = slow_.emplace_back();
  kept.asked = std::move(*asked);
  kept.answer_bytes = answer_bytes;
  if (times != nullptr) kept.times = *times;
}

void SessionConnection::TellSlow(const Answered& answered, absl::Time now) {
  if (answered.slow < 0) return;  // told of since it was answered
  const MaybeSlow& kept = slow_[static_cast<size_t>(answered.slow)];
  SlowOperation slow;
  slow.method = NameOf(answered.method);
  slow.code = answered.code;
  slow.took = now - answered.began;
  slow.request = RequestNameOf(kept.asked.number);
  if (kept.asked.trace != nullptr) slow.traceparent = *kept.asked.trace;
  if (const PrincipalPtr by = peer(); by != nullptr) slow.by = by->name;
  slow.from = carrier_->peer();
  if (kept.asked.keys != kNoKeys) {
    slow.keys = static_cast<uint64_t>(kept.asked.keys);
  }
  slow.request_bytes = kept.asked.bytes;
  slow.answer_bytes = kept.answer_bytes;
  if (kept.times.has_value()) {
    slow.head = kept.times;
    slow.answer = now - kept.times->answered;
  }
  node_->slow().Tell(slow, now);
}

}  // namespace kamino::node
