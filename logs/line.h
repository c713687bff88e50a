// Lines of the log: one for each event, whatever it is told with.
#ifndef KAMINO_LOGS_LINE_H_
#define KAMINO_LOGS_LINE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace kamino::logs {

// Who logs; as JSON each line says so. What is empty is left out.
struct Origin {
  std::string program;
  std::string cluster;
  std::string node;
};

struct Event {
  int severity = 0;         // as glog counts: 0 INFO to 3 FATAL
  int64_t unix_micros = 0;  // when
  absl::string_view file;
  int line = 0;
  absl::string_view thread;  // its name
  int64_t thread_id = 0;
  absl::string_view request;      // what it is about, if that is known
  absl::string_view traceparent;  // likewise
  absl::string_view message;
};

// A JSON object, without an end of line: time (RFC 3339, UTC, microseconds),
// severity, program, cluster, node, file ("name:line"), thread, request,
// traceparent, message. Bytes that are no UTF-8 become U+FFFD.
std::string JsonLine(const Origin& origin, const Event& event);

// `prefix` and the message, and at the end, in brackets, request and trace.
// What would end the line, or command a terminal, is escaped: \n, \x1b.
std::string TextLine(absl::string_view prefix, const Event& event);

}  // namespace kamino::logs

#endif  // KAMINO_LOGS_LINE_H_
