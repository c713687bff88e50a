#include "logs/log.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "glog/logging.h"
#include "logs/about_request.h"
#include "logs/last_words.h"

ABSL_FLAG(std::string, log_format, "text",
          "How lines of the log look: text (for people) or json (for programs, "
          "an object a line); docs/logs.md.");
ABSL_FLAG(std::string, log_level, "info",
          "What is logged: error, warning (and errors), info (and those), or "
          "debug (all). The last line, of why the process ends, always is.");

namespace kamino::logs {
namespace {

constexpr int kDebug = -1;

// The least severity that is logged, or kDebug.
const std::map<std::string, int>& Levels() {
  static const auto* levels =
      new std::map<std::string, int>{{"debug", kDebug},
                                     {"info", google::GLOG_INFO},
                                     {"warning", google::GLOG_WARNING},
                                     {"error", google::GLOG_ERROR}};
  return *levels;
}

class Recent {
 public:
  void Add(absl::string_view line) {
    absl::MutexLock lock(&mutex_);
    lines_.emplace_back(line.substr(0, kRecentLineBytes));
    bytes_ += lines_.back().size();
    while (bytes_ > kRecentBytes) {
      bytes_ -= lines_.front().size();
      lines_.pop_front();
    }
  }
  std::vector<std::string> Read() {
    absl::MutexLock lock(&mutex_);
    return {lines_.begin(), lines_.end()};
  }

 private:
  absl::Mutex mutex_;
  std::deque<std::string> lines_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

Recent& TheRecent() {
  static auto* recent = new Recent;
  return *recent;
}

void WriteAll(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(STDERR_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody reads it
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

// glog calls it with a lock of its own held: one line after the other.
class Sink : public google::LogSink {
 public:
  Sink(Origin origin, bool json) : origin_(std::move(origin)), json_(json) {}

  bool json() const { return json_; }

  void send(google::LogSeverity severity, const char*, const char* file,
            int line, const google::LogMessageTime& time, const char* message,
            size_t size) override {
    if (ended_) return;
    Event event;
    event.severity = severity;
    event.unix_micros = int64_t{time.timestamp()} * 1'000'000 + time.usec();
    event.file = file;
    event.line = line;
    char thread[16] = "";
    pthread_getname_np(pthread_self(), thread, sizeof(thread));
    event.thread = thread;
    event.thread_id = gettid();
    if (const AboutRequest* about = AboutRequest::current()) {
      event.request = about->request();
      event.traceparent = about->traceparent();
    }
    const bool fatal = severity == google::GLOG_FATAL;
    if (fatal) {
      const std::string stack = CurrentStack();
      Event before = event;
      before.severity = google::GLOG_ERROR;
      before.message = stack;
      Write(before, time);
    }
    event.message = absl::string_view(message, size);
    Write(event, time);
    if (!fatal) return;
    NoteLastWords();
    abort();
  }

  // What comes behind is not told. To be called by whoever logs the last line,
  // before: its thread's next line is the last.
  void EndWithNext() { ends_ = gettid(); }

 private:
  void Write(const Event& event, const google::LogMessageTime& time) {
    std::string line;
    if (json_) {
      line = JsonLine(origin_, event);
    } else {
      line = TextLine(
          ToString(event.severity, event.file.data(), event.line, time, "", 0),
          event);
    }
    TheRecent().Add(line);
    line.push_back('\n');
    WriteAll(line);
    if (ends_ == event.thread_id) ended_ = true;
  }

  const Origin origin_;
  const bool json_;
  std::atomic<int64_t> ends_{0};
  std::atomic<bool> ended_{false};
};

Sink* sink = nullptr;

}  // namespace

absl::Status CheckLogFlags() {
  const std::string format = absl::GetFlag(FLAGS_log_format);
  if (format != "text" && format != "json") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--log_format must be text or json, not \"", format, "\""));
  }
  const std::string level = absl::GetFlag(FLAGS_log_level);
  if (Levels().count(level) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--log_level must be debug, info, warning or error, not "
                     "\"",
                     level, "\""));
  }
  return absl::OkStatus();
}

void StartLogging(const char* program, const Origin& origin) {
  const bool json = absl::GetFlag(FLAGS_log_format) == "json";
  // Nothing to files, nothing to stderr by glog itself.
  for (int severity = 0; severity < google::NUM_SEVERITIES; ++severity) {
    google::SetLogDestination(severity, "");
  }
  FLAGS_logtostderr = false;
  FLAGS_alsologtostderr = false;
  FLAGS_stderrthreshold = google::NUM_SEVERITIES;
  google::InitGoogleLogging(program);
  sink = new Sink(origin, json);
  google::AddLogSink(sink);
  ExpectLastWords(origin, json);
  AdoptLogLevel();
}

bool LogsJson() { return sink != nullptr && sink->json(); }

void AdoptLogLevel() {
  const int level = Levels().at(absl::GetFlag(FLAGS_log_level));
  FLAGS_minloglevel = std::max(level, int{google::GLOG_INFO});
  FLAGS_v = level == kDebug ? 1 : 0;
}

void SayLast(int severity, absl::string_view why) {
  FLAGS_minloglevel = google::GLOG_INFO;
  sink->EndWithNext();
  google::LogMessage(__FILE__, __LINE__, severity).stream() << why;
  NoteLastWords();
}

std::vector<std::string> RecentLines() { return TheRecent().Read(); }

}  // namespace kamino::logs
