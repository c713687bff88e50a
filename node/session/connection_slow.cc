// The names of a session connection's requests, and their durations: counted,
// and logged if long.
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
  // An invalid traceparent is ignored, as W3C requires.
  trace_tag_ = trace.tag;
  trace_ = logs::IsTraceparent(trace.body) ? std::string(trace.body) : "";
}

std::string SessionConnection::RequestNameOf(uint64_t number) const {
  return number == 0 ? "" : absl::StrCat(session_id_, "/", number);
}

void SessionConnection::CountAnswered() {
  const absl::Time now = node_->Now();
  const Answered* const end = answered_.data() + answered_.size();
  for (const Answered* next = answered_.data(); next != end;) {
    // Answers that arrived together are counted together.
    const Answered& first = *next;
    while (++next != end && next->CountsAs(first)) {
    }
    const int64_t nanos = absl::ToInt64Nanoseconds(now - first.began);
    CountSessionRequests(first.method, first.code, nanos,
                         static_cast<uint64_t>(next - &first));
    if (node_->slow().IsSlow(nanos)) {
      for (const Answered* each = &first; each != next; ++each) {
        TellSlow(*each, now);
      }
    }
  }
  answered_.clear();
  details_.clear();
}

void SessionConnection::NoteAnswered(Pending* asked, absl::StatusCode code,
                                     size_t answer_bytes,
                                     const head::RequestTimesSource* times) {
  int detail = -1;
  const bool keeps = times != nullptr && node_->slow().MayBecomeSlow(
                                             times->answered - asked->began);
  if (keeps || asked->trace != nullptr) {
    detail = static_cast<int>(details_.size());
    Detail& kept = details_.emplace_back();
    kept.trace = std::move(asked->trace);
    if (keeps) kept.times = times->Times();
  }
  answered_.push_back({asked->method, code, asked->began, asked->number,
                       asked->keys, static_cast<uint32_t>(asked->bytes),
                       static_cast<uint32_t>(answer_bytes), detail});
}

void SessionConnection::TellSlow(const Answered& answered, absl::Time now) {
  SlowOperation slow;
  slow.method = NameOf(answered.method);
  slow.code = answered.code;
  slow.took = now - answered.began;
  slow.request = RequestNameOf(answered.number);
  if (const PrincipalPtr by = peer(); by != nullptr) slow.by = by->name;
  slow.from = carrier_->peer();
  if (answered.keys != kNoKeys) {
    slow.keys = static_cast<uint64_t>(answered.keys);
  }
  slow.request_bytes = answered.request_bytes;
  slow.answer_bytes = answered.answer_bytes;
  if (answered.detail >= 0) {
    const Detail& detail = details_[static_cast<size_t>(answered.detail)];
    if (detail.trace != nullptr) slow.traceparent = *detail.trace;
    slow.head = detail.times;
    if (detail.times.has_value()) slow.answer = now - detail.times->answered;
  }
  node_->slow().Tell(slow, now);
}

}  // namespace kamino::node
