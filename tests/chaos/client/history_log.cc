#include "tests/chaos/client/history_log.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/error.h"

namespace kamino::chaos {

std::string Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e || c == '"' || c == '\\') {
      absl::StrAppendFormat(&quoted, "\\u%04x", byte);
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + "\"";
}

End EndOf(const absl::Status& status) {
  if (status.ok()) return End::kOk;
  return client::ReasonOf(status) == kamino::v1::REASON_OUTCOME_UNKNOWN
             ? End::kUnknown
             : End::kFail;
}

int64_t MonotonicNanos() {
  return std::chrono::steady_clock::now().time_since_epoch() /
         std::chrono::nanoseconds(1);
}

void HistoryLog::Call(const Process& process, absl::string_view fields) {
  Write(process, "invoke", fields);
}

void HistoryLog::Return(Process* process, End end, absl::string_view fields) {
  const bool unknown = end == End::kUnknown;
  const absl::string_view elle = unknown ? "info" : "fail";
  const absl::string_view other = unknown ? "unknown" : "fail";
  Write(*process,
        end == End::kOk              ? "ok"
        : dialect_ == Dialect::kElle ? elle
                                     : other,
        fields);
  if (unknown) process->id += process->step;
}

void HistoryLog::Write(const Process& process, absl::string_view kind,
                       absl::string_view fields) {
  // Taken before the lock: a call's time may be early, a return's is not, for
  // it is taken as soon as the answer is here.
  const int64_t now = MonotonicNanos();
  const bool elle = dialect_ == Dialect::kElle;
  std::string line =
      absl::StrCat(elle ? "{\"time\":" : "{\"t\":", now,
                   elle ? ",\"process\":" : ",\"p\":", process.id,
                   elle ? ",\"type\":\"" : ",\"e\":\"", kind, "\"",
                   fields.empty() ? "" : ",", fields, "}\n");
  absl::MutexLock lock(&mutex_);
  file_ << line << std::flush;
}

}  // namespace kamino::chaos
