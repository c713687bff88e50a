#include "node/session/answered_requests.h"

#include <utility>

#include "node/session/session_metrics.h"

namespace kamino::node {

void AnsweredRequests::Count(uint64_t session) {
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
    if (node_->meters().slow.IsSlow(nanos)) {
      for (const Answered* each = &first; each != next; ++each) {
        LogSlow(*each, session, now);
      }
    }
  }
  answered_.clear();
  details_.clear();
}

void AnsweredRequests::Add(PendingRequest asked, absl::StatusCode code,
                           size_t answer_bytes,
                           const head::RequestTimesSource* times) {
  int detail = -1;
  const bool keeps = times != nullptr && node_->meters().slow.MayBecomeSlow(
                                             times->answered - asked.began);
  if (keeps || asked.trace != nullptr) {
    detail = static_cast<int>(details_.size());
    Detail& kept = details_.emplace_back();
    kept.trace = std::move(asked.trace);
    if (keeps) kept.times = times->Times();
  }
  answered_.push_back({asked.method, code, asked.began, asked.number,
                       asked.keys, static_cast<uint32_t>(asked.bytes),
                       static_cast<uint32_t>(answer_bytes), detail});
}

void AnsweredRequests::LogSlow(const Answered& answered, uint64_t session,
                               absl::Time now) {
  SlowOperation slow;
  slow.method = NameOf(answered.method);
  slow.code = answered.code;
  slow.took = now - answered.began;
  slow.request = RequestName(session, answered.number);
  if (const PrincipalPtr by = access_->peer(); by != nullptr)
    slow.by = by->name;
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
  node_->meters().slow.Tell(slow, now);
}

}  // namespace kamino::node
