#include "logs/log.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "glog/logging.h"
#include "logs/about_request.h"
#include "logs/last_words.h"
#include "logs/line_writer.h"

ABSL_FLAG(std::string, log_format, "text",
          "Format of log lines: text (for people) or json (for programs, an "
          "object a line); docs/operate/logs.md.");
ABSL_FLAG(std::string, log_level, "info",
          "Lowest level that is logged: error, warning, info or debug. The "
          "last line, which says why the process ends, is always logged.");

namespace kamino::logs {
namespace {

constexpr int kDebug = -1;

// The lowest logged severity, or kDebug.
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

std::string ThreadName() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return name;
}

// Formats the lines of glog and queues them for the writing thread. glog calls
// `send` under a lock of its own, one line at a time.
class Sink : public google::LogSink {
 public:
  Sink(Origin origin, bool json)
      : origin_(std::move(origin)), json_(json), writer_(OfStderr()) {}

  bool json() const { return json_; }
  LineWriter& writer() { return writer_; }

  void send(google::LogSeverity severity, const char*, const char* file,
            int line, const google::LogMessageTime& time, const char* message,
            size_t size) override {
    const absl::string_view text(message, size);
    if (severity == google::GLOG_FATAL) EndWith(file, line, time, text);
    std::string whole = LineOf(severity, file, line, time, text);
    TheRecent().Add(whole);
    if (ends_ == gettid()) {
      writer_.AddLast(std::move(whole));
    } else {
      writer_.Add(std::move(whole));
    }
  }

  // Nothing is logged after the calling thread's next line.
  void EndWithNext() { ends_ = gettid(); }

  // Bypasses glog, whose level may drop the line.
  absl::StatusOr<std::shared_ptr<LineWriter::Receipt>> Keep(
      int severity, absl::string_view text, const char* file, int line) {
    const std::string path = file;
    std::string whole =
        LineOf(severity, path.c_str() + path.rfind('/') + 1, line, Now(), text);
    auto receipt = writer_.Keep(whole);
    if (receipt.ok()) TheRecent().Add(std::move(whole));
    return receipt;
  }

 private:
  LineWriter::Options OfStderr() {
    LineWriter::Options options;
    options.file = STDERR_FILENO;
    options.notice = [this](uint64_t dropped) {
      std::string line =
          LineOf(google::GLOG_WARNING, "log.cc", __LINE__, Now(),
                 absl::StrCat(dropped,
                              " lines of the log were dropped: the reader of "
                              "stderr did not take them, or a write failed"));
      TheRecent().Add(line);
      return line;
    };
    return options;
  }

  static google::LogMessageTime Now() {
    const absl::Time now = absl::Now();
    return {absl::ToTimeT(now),
            static_cast<double>(absl::ToUnixMicros(now)) / 1e6};
  }

  std::string LineOf(int severity, const char* file, int line,
                     const google::LogMessageTime& time,
                     absl::string_view message) const {
    Event event;
    event.severity = severity;
    event.unix_micros = int64_t{time.timestamp()} * 1'000'000 + time.usec();
    event.file = file;
    event.line = line;
    const std::string thread = ThreadName();
    event.thread = thread;
    event.thread_id = gettid();
    event.message = message;
    if (const AboutRequest* about = AboutRequest::current()) {
      event.request = about->request();
      event.traceparent = about->traceparent();
    }
    if (json_) return JsonLine(origin_, event);
    return TextLine(ToString(severity, file, line, time, "", 0), event);
  }

  [[noreturn]] void EndWith(const char* file, int line,
                            const google::LogMessageTime& time,
                            absl::string_view why) {
    const std::string stack =
        LineOf(google::GLOG_ERROR, file, line, time, CurrentStack());
    const std::string last = LineOf(google::GLOG_FATAL, file, line, time, why);
    TheRecent().Add(stack);
    TheRecent().Add(last);
    if (writer_.AddLast(absl::StrCat(stack, "\n", last))) {
      ClaimLastWords();
      writer_.Drain(kLongestDrain);
      NoteLastWords();
    }
    abort();
  }

  const Origin origin_;
  const bool json_;
  std::atomic<int64_t> ends_{0};
  LineWriter writer_;
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
  // glog itself writes neither files nor stderr.
  for (int severity = 0; severity < google::NUM_SEVERITIES; ++severity) {
    google::SetLogDestination(severity, "");
  }
  FLAGS_logtostderr = false;
  FLAGS_alsologtostderr = false;
  FLAGS_stderrthreshold = google::NUM_SEVERITIES;
  google::InitGoogleLogging(program);
  sink = new Sink(origin, json);
  google::AddLogSink(sink);
  ExpectLastWords(origin, json, &sink->writer());
  std::atexit(Flush);
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
  ClaimLastWords();
  Flush();
  NoteLastWords();
}

void SayLastPlainly(absl::string_view why) {
  Event event;
  event.message = why;
  std::string line = TextLine("", event);
  if (sink == nullptr) {
    line.push_back('\n');
    WriteAtEnd(line.data(), line.size());
  } else if (sink->writer().AddLast(std::move(line))) {
    ClaimLastWords();
    Flush();
  }
  NoteLastWords();
}

void Flush() {
  // A process that ends flushes several times, but waits only once for a
  // stalled reader.
  static std::atomic<bool> in_vain{false};
  if (sink == nullptr || in_vain) return;
  in_vain = !sink->writer().Drain(kLongestDrain);
}

uint64_t DroppedLines() {
  return sink == nullptr ? 0 : sink->writer().dropped();
}

absl::Status KeepLine(int severity, absl::string_view text, const char* file,
                      int line) {
  if (sink == nullptr) {
    google::LogMessage(file, line, severity).stream() << text;
    return absl::OkStatus();
  }
  return sink->Keep(severity, text, file, line).status();
}

absl::Status WriteLine(int severity, absl::string_view text, const char* file,
                       int line) {
  if (sink == nullptr) return KeepLine(severity, text, file, line);
  auto kept = sink->Keep(severity, text, file, line);
  if (!kept.ok()) return kept.status();
  return sink->writer().AwaitWritten(**kept);
}

absl::Status AwaitWritten() {
  return sink == nullptr ? absl::OkStatus() : sink->writer().AwaitWritten();
}

std::vector<std::string> RecentLines() { return TheRecent().Read(); }

}  // namespace kamino::logs
