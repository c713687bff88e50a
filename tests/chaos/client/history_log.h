// Writes a history: one line of JSON for each call and each end of a call, with
// the time and the logical process. docs/testing/chaos.md describes the format.
#ifndef KAMINO_TESTS_CHAOS_CLIENT_HISTORY_LOG_H_
#define KAMINO_TESTS_CHAOS_CLIENT_HISTORY_LOG_H_

#include <cstdint>
#include <fstream>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace kamino::chaos {

// A string as JSON. Bytes outside ASCII become what Latin-1 takes them for.
std::string Quoted(absl::string_view text);

// How a call ended, by what the client library promises.
enum class End {
  kOk,
  kFail,     // has not happened, and never will
  kUnknown,  // may have happened, or may yet
};
End EndOf(const absl::Status& status);

// Nanoseconds of CLOCK_MONOTONIC: comparable between processes of a machine.
int64_t MonotonicNanos();

// One logical process: at most one call is under way. One whose outcome is
// unknown may still be: the process is another one from then on.
struct Process {
  int id = 0;
  int step = 1;  // to the next id, which no other process uses
};

// Thread-safe.
class HistoryLog {
 public:
  // How a line says what is called and what came of it.
  enum class Dialect {
    kEvents,  // "e", "p", "t"
    kElle,    // "type", "process", "time": of transactions over lists
  };

  HistoryLog(const std::string& path, Dialect dialect)
      : dialect_(dialect), file_(path, std::ios::trunc) {}

  bool ok() const { return file_.good(); }

  // `fields` are the rest of a JSON object, without braces.
  void Call(const Process& process, absl::string_view fields);
  void Return(Process* process, End end, absl::string_view fields);

 private:
  void Write(const Process& process, absl::string_view kind,
             absl::string_view fields);

  const Dialect dialect_;
  absl::Mutex mutex_;
  std::ofstream file_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::chaos

#endif  // KAMINO_TESTS_CHAOS_CLIENT_HISTORY_LOG_H_
