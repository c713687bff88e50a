// Lines of the log that strangers can cause, as often as they like: some a
// second are told, and how many were left out.
#ifndef KAMINO_BASE_LOG_LIMIT_H_
#define KAMINO_BASE_LOG_LIMIT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kamino {

// Of one kind of line. Thread-safe.
class LogLimit {
 public:
  static constexpr int kLinesPerSecond = 5;

  // Whether one more line is told at `now`, which never goes back: what is to
  // stand at its end, which is not empty where lines before it were left out.
  std::optional<std::string> Take(absl::Time now);

 private:
  absl::Mutex mutex_;
  absl::Time second_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int told_ ABSL_GUARDED_BY(mutex_) = 0;          // in the second from then on
  int64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;  // since the last one told
};

}  // namespace kamino

#endif  // KAMINO_BASE_LOG_LIMIT_H_
