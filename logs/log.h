// Where what is logged (glog's LOG) goes, and how it looks: one line for each
// event on stderr, as text or JSON, and the last of them in memory.
//
// LOG never waits for the reader of stderr: a thread writes the lines
// (logs/line_writer.h), and lines that the reader does not take are dropped and
// counted. Lines that must not be lost go by KeepLine and WriteLine.
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
// logged behind it. `severity`: as glog counts. Waits kLongestDrain at most
// until all lines are written, as does Flush.
void SayLast(int severity, absl::string_view why);

// The same, with a line of text that is `why` alone; before StartLogging, too.
void SayLastPlainly(absl::string_view why);

void Flush();

// Lines that were dropped so far.
uint64_t DroppedLines();

// Queues a line for the log that is not dropped, whatever --log_level is. Does
// not wait. kFailedPrecondition: the queue is full, and the line is not in it.
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

// The last lines of this process, as they were written, oldest first; those of
// the last kRecentBytes or less, and of each its first kRecentLineBytes.
inline constexpr size_t kRecentBytes = 512u << 10;
inline constexpr size_t kRecentLineBytes = 4096;
std::vector<std::string> RecentLines();

}  // namespace kamino::logs

#endif  // KAMINO_LOGS_LOG_H_
