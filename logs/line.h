// Formats log lines, one per event.
#ifndef KAMINO_LOGS_LINE_H_
#define KAMINO_LOGS_LINE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace kamino::logs {

// The source of the log, part of each JSON line; empty fields are omitted.
struct Origin {
  std::string program;
  std::string cluster;
  std::string node;
};

struct Event {
  int severity = 0;         // as in glog: 0 INFO to 3 FATAL
  int64_t unix_micros = 0;  // time of the event
  absl::string_view file;
  int line = 0;
  absl::string_view thread;  // its name
  int64_t thread_id = 0;
  absl::string_view request;      // that the line is about; may be empty
  absl::string_view traceparent;  // likewise
  absl::string_view message;
};

// A JSON object without a line end: time (RFC 3339, UTC, microseconds),
// severity, program, cluster, node, file ("name:line"), thread, request,
// traceparent, message. Invalid UTF-8 becomes U+FFFD.
std::string JsonLine(const Origin& origin, const Event& event);

// `prefix` and the message, followed by request and trace in brackets. Escapes
// line ends and control characters: \n, \x1b.
std::string TextLine(absl::string_view prefix, const Event& event);

}  // namespace kamino::logs

#endif  // KAMINO_LOGS_LINE_H_
