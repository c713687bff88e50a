// Where what is logged (glog's LOG) goes, and how it looks: one line for each
// event on stderr, as text or JSON, and the last of them in memory.
#ifndef KAMINO_LOGS_LOG_H_
#define KAMINO_LOGS_LOG_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "logs/line.h"

namespace kamino::logs {

// kInvalidArgument, "--flag why": --log_format or --log_level are none.
absl::Status CheckLogFlags();

// Takes over from glog, which must not have begun (InitGoogleLogging); called
// once. A line of severity FATAL ends the process from now on with that line
// as the last one, behind one that has the stack.
void StartLogging(const char* program, const Origin& origin);

// Whether it has begun, with lines as JSON.
bool LogsJson();

// What --log_level says, from now on.
void AdoptLogLevel();

// Says why the process ends, however few lines --log_level leaves; nothing is
// logged behind it. `severity`: as glog counts.
void SayLast(int severity, absl::string_view why);

// The last lines of this process, as they were written, oldest first; those of
// the last kRecentBytes or less, and of each its first kRecentLineBytes.
inline constexpr size_t kRecentBytes = 512u << 10;
inline constexpr size_t kRecentLineBytes = 4096;
std::vector<std::string> RecentLines();

}  // namespace kamino::logs

#endif  // KAMINO_LOGS_LOG_H_
