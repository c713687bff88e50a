// The process's log (glog's LOG): one line per event on stderr, as text or
// JSON, and the last lines in memory.
//
// LOG never waits for the reader of stderr. A thread writes the lines
// (logs/line_writer.h); lines that the reader does not take are dropped and
// counted. Lines that must not be lost use KeepLine and WriteLine.
#ifndef KAMINO_LOGS_LOG_H_
#define KAMINO_LOGS_LOG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "logs/line.h"

namespace kamino::logs {

// kInvalidArgument, "--flag why": --log_format or --log_level is invalid.
absl::Status CheckLogFlags();

// Replaces glog, which must not have started (InitGoogleLogging). Call it once.
// From now on a FATAL line ends the process, as its last line, after a line
// with the stack.
void StartLogging(const char* program, const Origin& origin);

// Whether the log has started with JSON lines.
bool LogsJson();

// Applies the present --log_level.
void AdoptLogLevel();

// Logs why the process ends, at any --log_level; nothing is logged after it.
// `severity`: as in glog. Waits at most kLongestDrain until all lines are
// written, as Flush does.
void SayLast(int severity, absl::string_view why);

// The same with `why` as the whole line; also before StartLogging.
void SayLastPlainly(absl::string_view why);

void Flush();

// Lines dropped so far.
uint64_t DroppedLines();

// Queues a line that is never dropped, at any --log_level. Does not wait.
// kFailedPrecondition: the queue is full, and the line is not in it.
absl::Status KeepLine(int severity, absl::string_view text,
                      const char* file = __builtin_FILE(),
                      int line = __builtin_LINE());

// Queues the line in the same way, and waits until it is written: 600 ms at
// most, 300 ms while the reader takes nothing. kFailedPrecondition: it is not
// written. Must not run on a thread that other threads wait for.
absl::Status WriteLine(int severity, absl::string_view text,
                       const char* file = __builtin_FILE(),
                       int line = __builtin_LINE());

// Waits in the same way until all queued lines are written.
absl::Status AwaitWritten();

// The last lines of this process as they were written, oldest first: at most
// kRecentBytes, and of each line the first kRecentLineBytes.
inline constexpr size_t kRecentBytes = 512u << 10;
inline constexpr size_t kRecentLineBytes = 4096;
std::vector<std::string> RecentLines();

}  // namespace kamino::logs

#endif  // KAMINO_LOGS_LOG_H_
