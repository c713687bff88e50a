// A trace as text; lab/docs/memory_trace.md.
#ifndef KAMINO_LAB_CONTROLLER_TRACE_FILE_H_
#define KAMINO_LAB_CONTROLLER_TRACE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lab/controller/trace.h"

namespace kamino::bench::controller {

// The first line of every file: its format, and the version of it.
inline constexpr absl::string_view kTraceHead = "kamino-memory-trace 1";

std::string WriteTrace(const Trace& trace);

// kInvalidArgument, with the line's number: not such a file, or what CheckTrace
// says.
absl::StatusOr<Trace> ParseTrace(absl::string_view text);

// kNotFound, kUnavailable: the file cannot be read or written.
absl::StatusOr<Trace> LoadTrace(const std::string& path);
absl::Status SaveTrace(const Trace& trace, const std::string& path);

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_TRACE_FILE_H_
