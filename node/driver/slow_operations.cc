#include "node/driver/slow_operations.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "glog/logging.h"
#include "logs/about_request.h"
#include "metrics/counters.h"

namespace kamino::node {
namespace {

metrics::Counters slow_operations(
    "kamino_slow_operations_total",
    "Operations of clients that took longer than --slow_operation_ms.",
    {"method"});

// As one word, whatever its content; a client may have chosen it.
void AddWord(absl::string_view name, absl::string_view value,
             std::string* line) {
  constexpr size_t kMost = 256;
  if (value.empty()) return;
  absl::StrAppend(line, " ", name, "=");
  for (const char c : value.substr(0, kMost)) {
    line->push_back(absl::ascii_isgraph(c) ? c : '?');
  }
}

void AddMillis(absl::string_view name, absl::Duration time, std::string* line) {
  absl::StrAppendFormat(line, " %s_ms=%.3f", name,
                        absl::ToDoubleMilliseconds(time));
}

void AddHead(const head::RequestTimes& head, std::string* line) {
  if (head.waits.executed) AddMillis("admit", head.waits.admit(), line);
  AddMillis("lock", head.waits.lock, line);
  absl::StrAppend(line, " parked=", head.waits.parked);
  if (head.together == 0) return;
  absl::StrAppend(line, " together=", head.together);
  AddMillis("execute", head.execute, line);
  AddMillis("persist", head.persist, line);
  if (head.hop != absl::InfiniteDuration()) AddMillis("hop", head.hop, line);
  AddMillis("complete", head.complete, line);
}

}  // namespace

SlowOperations::SlowOperations() {
  // So that they exist with 0 before the first one.
  for (const char* method : {"get", "batch_get", "scan", "put", "patch",
                             "delete", "commit", "call"}) {
    slow_operations.Of({method});
  }
}

void SlowOperations::SetThreshold(absl::Duration threshold) {
  threshold_ = threshold == absl::ZeroDuration()
                   ? kOff
                   : absl::ToInt64Nanoseconds(threshold);
}

void SlowOperations::Tell(const SlowOperation& slow, absl::Time now) {
  slow_operations.Of({slow.method})->Add();
  const auto more = told_.Take(now);
  if (!more.has_value()) return;
  const logs::AboutRequest about(slow.request, slow.traceparent);
  LOG(WARNING) << ToString(slow) << *more;
}

std::string ToString(const SlowOperation& slow) {
  std::string line = "slow operation:";
  AddWord("method", slow.method, &line);
  AddWord("procedure", slow.procedure, &line);
  AddMillis("took", slow.took, &line);
  AddWord("code", absl::StatusCodeToString(slow.code), &line);
  AddWord("by", slow.by, &line);
  AddWord("from", slow.from, &line);
  if (slow.keys.has_value()) absl::StrAppend(&line, " keys=", *slow.keys);
  absl::StrAppend(&line, " request_bytes=", slow.request_bytes,
                  " answer_bytes=", slow.answer_bytes);
  if (slow.core.has_value()) AddMillis("core", *slow.core, &line);
  if (slow.head.has_value()) AddHead(*slow.head, &line);
  if (slow.answer.has_value()) AddMillis("answer", *slow.answer, &line);
  return line;
}

std::string MethodNameOf(absl::string_view response) {
  std::string name;
  for (const char c : absl::StripSuffix(response, "Response")) {
    if (absl::ascii_isupper(c) && !name.empty()) name.push_back('_');
    name.push_back(absl::ascii_tolower(c));
  }
  return name;
}

}  // namespace kamino::node
