#include "rpc/call_metrics.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/strip.h"
#include "logs/log.h"
#include "rpc/call_counts.h"

namespace kamino::rpc {
namespace {

// gRPC's codes have the names of Abseil's.
std::string CodeName(int code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

void Describe(const CallCounts& counts, const std::string& name,
              const std::string& help, metrics::Families* families) {
  counts.Visit([&](absl::string_view method, int code,
                   const metrics::LatencySnapshot& took) {
    families->Seconds(name, help, took,
                      {{"method", std::string(absl::StripPrefix(method, "/"))},
                       {"code", CodeName(code)}});
  });
}

}  // namespace

void DescribeCalls(metrics::Families* families) {
  Describe(CallsServed(), "kamino_rpc_served_seconds",
           "gRPC calls that were served; a stream is one call.", families);
  Describe(CallsMade(), "kamino_rpc_made_seconds",
           "gRPC calls that this process has made.", families);
}

void DescribeLog(metrics::Families* families) {
  families->Counter("kamino_log_dropped_lines_total",
                    "Lines of the log that were dropped: the reader of stderr "
                    "did not take them, or a write failed.",
                    static_cast<double>(logs::DroppedLines()));
}

}  // namespace kamino::rpc
