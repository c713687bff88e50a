// Limits log lines that peers can cause at any rate: logs a few a second, and
// counts the rest.
#ifndef KAMINO_BASE_LOG_LIMIT_H_
#define KAMINO_BASE_LOG_LIMIT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kamino {

// Limits one kind of line. Thread-safe.
class LogLimit {
 public:
  static constexpr int kLinesPerSecond = 5;

  // Whether to log one more line at `now`, which never goes back. If so,
  // returns the text to append to it, which is empty unless lines before it
  // were dropped.
  std::optional<std::string> Take(absl::Time now);

 private:
  absl::Mutex mutex_;
  absl::Time second_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int told_ ABSL_GUARDED_BY(mutex_) = 0;          // in the second from then on
  int64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;  // since the last one told
};

}  // namespace kamino

#endif  // KAMINO_BASE_LOG_LIMIT_H_
