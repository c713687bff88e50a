#include "logs/line_writer.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"

namespace kamino::logs {
namespace {

// How long the thread waits for the reader between checks whether to stop.
constexpr int kLookAgainMs = 50;

// Threads started during its lifetime block the signals that other threads
// handle. Faults of their own still reach their handlers.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    for (int fault :
         {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP}) {
      sigdelset(&all, fault);
    }
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

LineWriter::LineWriter(Options options)
    : options_(std::move(options)), output_(options_.file) {
  const WithoutSignals without_signals;
  thread_ = std::thread([this] { Run(); });
}

LineWriter::~LineWriter() {
  stops_ = true;
  {
    // Wakes the thread, which checks stops_ once the mutex is released.
    absl::MutexLock lock(&mutex_);
  }
  thread_.join();
}

void LineWriter::Push(LineQueue::Line line) {
  if (waiting_.fetch_add(1) == 0) progress_ = MonotonicNow();
  queue_.Push(std::move(line));
}

void LineWriter::PushNotice() {
  const uint64_t untold = lost_.TakeUntold();
  Push({.text = options_.notice(untold), .tells_of = untold});
}

void LineWriter::Add(std::string line) {
  absl::MutexLock lock(&mutex_);
  if (ended_) return;
  // All waiting lines have failed, so no later write would bring the notice.
  if (lost_.dropping() && queue_.bytes() == 0) PushNotice();
  const bool fits =
      queue_.bytes() == 0 || queue_.bytes() + line.size() < options_.most_bytes;
  if (fits && !lost_.dropping()) return Push({.text = std::move(line)});
  lost_.Drop();
}

bool LineWriter::AddLast(std::string line) {
  absl::MutexLock lock(&mutex_);
  if (std::exchange(ended_, true)) return false;
  if (lost_.untold() > 0) PushNotice();
  Push({.text = std::move(line)});
  return true;
}

absl::StatusOr<std::shared_ptr<LineWriter::Receipt>> LineWriter::Keep(
    std::string line) {
  absl::MutexLock lock(&mutex_);
  if (ended_) return absl::FailedPreconditionError("the process is ending");
  if (queue_.bytes() + line.size() >= options_.most_bytes_with_kept) {
    return NotTaken();
  }
  auto receipt = std::make_shared<Receipt>();
  Push({.text = std::move(line), .receipt = receipt});
  return receipt;
}

uint64_t LineWriter::dropped() const {
  absl::MutexLock lock(&mutex_);
  return lost_.total();
}

absl::Status LineWriter::NotTaken() const {
  return absl::FailedPreconditionError(absl::StrCat(
      "the reader of stderr takes no lines of the log (",
      queue_.added() - queue_.finished(),
      " are queued); restart the reader, or the process with another stderr"));
}

bool LineWriter::AwaitNumber(uint64_t number, absl::Duration patience,
                             absl::Duration longest) {
  const absl::Time end = MonotonicNow() + longest;
  const auto written = [this, number]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return queue_.finished() >= number;
  };
  while (!written()) {
    const absl::Duration left =
        std::min(end, progress_ + patience) - MonotonicNow();
    if (left <= absl::ZeroDuration()) return false;
    mutex_.AwaitWithTimeout(absl::Condition(&written), left);
  }
  return true;
}

absl::Status LineWriter::AwaitWritten(const Receipt& receipt) {
  absl::MutexLock lock(&mutex_);
  if (!AwaitNumber(queue_.NumberOf(receipt), options_.patience,
                   options_.longest_wait)) {
    return NotTaken();
  }
  const int error = queue_.ErrorOf(receipt);
  if (error == 0) return absl::OkStatus();
  return NotWritten(error);
}

absl::Status LineWriter::NotWritten(int error) const {
  return absl::FailedPreconditionError(
      absl::StrCat("stderr cannot be written to: ", std::strerror(error)));
}

absl::Status LineWriter::AwaitWritten() {
  {
    absl::MutexLock lock(&mutex_);
    // Only a write shows whether stderr is writable again.
    if (last_error_ != 0 && queue_.bytes() == 0 && !ended_) PushNotice();
    if (!AwaitNumber(queue_.added(), options_.patience,
                     options_.longest_wait)) {
      return NotTaken();
    }
    if (last_error_ != 0) return NotWritten(last_error_);
  }
  const auto wait_ms = absl::ToInt64Milliseconds(options_.patience);
  if (output_.AwaitRoom(static_cast<int>(wait_ms))) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  return NotTaken();
}

bool LineWriter::Drain(absl::Duration longest) {
  absl::MutexLock lock(&mutex_);
  return AwaitNumber(queue_.added(), absl::InfiniteDuration(), longest);
}

void LineWriter::NoteProgress() {
  absl::MutexLock lock(&mutex_);
  progress_ = MonotonicNow();
}

int LineWriter::Write(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = output_.Write(bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
      half_ = !bytes.empty();
      NoteProgress();
      continue;
    }
    if (written == 0) return EIO;
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return errno;
    output_.AwaitRoom(kLookAgainMs);
    if (stops_) return ECANCELED;
  }
  return 0;
}

void LineWriter::Finish(const LineQueue::Line& line, int error) {
  absl::MutexLock lock(&mutex_);
  queue_.Finish(line, error);
  last_error_ = error;
  if (error != 0 && line.tells_of > 0) {
    lost_.CountFailedNotice(line.tells_of);
  } else if (error != 0) {
    lost_.CountFailed();
  }
  // Only after a successful write, or the notice would be lost as well.
  const bool tells = error == 0 && lost_.untold() > 0 && !ended_;
  if (tells && queue_.bytes() <= options_.most_bytes / 2) PushNotice();
  waiting_.fetch_sub(1);
}

void LineWriter::Run() {
  pthread_setname_np(pthread_self(), "log-writer");
  thread_id_ = gettid();
  const auto wakes = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !queue_.empty() || stops_;
  };
  while (true) {
    LineQueue::Line line;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&wakes));
      if (stops_) return;
      line = queue_.Take();
    }
    int error = 0;
    // A full disk may have taken a part of the previous line.
    if (half_) error = Write("\n");
    if (error == 0) error = Write(line.text);
    Finish(line, error);
  }
}

}  // namespace kamino::logs
