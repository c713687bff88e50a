// Captures log lines while an object exists, with the request of each.
#ifndef KAMINO_TESTS_LOGS_CAPTURED_LINES_H_
#define KAMINO_TESTS_LOGS_CAPTURED_LINES_H_

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "glog/logging.h"
#include "logs/about_request.h"

namespace kamino::logs {

// Thread-safe.
class CapturedLines final : public google::LogSink {
 public:
  struct Line {
    std::string message;
    std::string request;
    std::string traceparent;
  };

  CapturedLines() { google::AddLogSink(this); }
  ~CapturedLines() override { google::RemoveLogSink(this); }

  // Those that begin so.
  std::vector<Line> With(absl::string_view begin) {
    absl::MutexLock lock(&mutex_);
    std::vector<Line> found;
    for (const Line& line : lines_) {
      if (absl::StartsWith(line.message, begin)) found.push_back(line);
    }
    return found;
  }

 private:
  void send(google::LogSeverity, const char*, const char*, int,
            const google::LogMessageTime&, const char* message,
            size_t size) override {
    Line line = {std::string(message, size), "", ""};
    if (const AboutRequest* about = AboutRequest::current()) {
      line.request = std::string(about->request());
      line.traceparent = std::string(about->traceparent());
    }
    absl::MutexLock lock(&mutex_);
    lines_.push_back(std::move(line));
  }

  absl::Mutex mutex_;
  std::vector<Line> lines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::logs

#endif  // KAMINO_TESTS_LOGS_CAPTURED_LINES_H_
