#include "server/audit_log.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "logs/log.h"

namespace kamino::server {
namespace {

constexpr size_t kMaxText = 1024;  // in one field
constexpr char kRemedy[] = "; --audit_log names a file for these lines";

// As a JSON string, truncated.
std::string Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (char c : text.substr(0, kMaxText)) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 ||
               static_cast<unsigned char>(c) >= 0x7f) {
      absl::StrAppendFormat(&quoted, "\\u%04x", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

absl::Status Failed(absl::string_view what, const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the audit log ", path, " cannot be ", what, ": ", std::strerror(errno)));
}

}  // namespace

std::string AuditLine(const AuditRecord& record, absl::Time at) {
  return absl::StrCat(
      R"({"time":")",
      absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", at, absl::UTCTimeZone()),
      R"(","who":)", Quoted(record.who), R"(,"from":)", Quoted(record.from),
      R"(,"call":)", Quoted(record.call), R"(,"arguments":)",
      Quoted(record.arguments), R"(,"outcome":)",
      Quoted(absl::StatusCodeToString(record.outcome.code())), R"(,"message":)",
      Quoted(record.outcome.message()), "}");
}

AuditLog::AuditLog(std::string path, Calendar calendar)
    : path_(std::move(path)),
      // The wall clock, because audit lines are read by calendar time.
      calendar_(calendar != nullptr ? std::move(calendar)
                                    : [] { return absl::Now(); }) {}

AuditLog::~AuditLog() {
  absl::MutexLock lock(&mutex_);
  if (file_ >= 0) close(file_);
}

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(std::string path,
                                                         Calendar calendar) {
  auto log =
      absl::WrapUnique(new AuditLog(std::move(path), std::move(calendar)));
  if (!log->path_.empty()) {
    absl::MutexLock lock(&log->mutex_);
    RETURN_IF_ERROR(log->OpenFile());
  }
  return log;
}

absl::Status AuditLog::OpenFile() {
  // Opening a pipe without a reader fails instead of waiting.
  const int file =
      open(path_.c_str(),
           O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
  if (file < 0) return Failed("opened", path_);
  if (file_ >= 0) close(file_);
  file_ = file;
  half_ = false;
  return absl::OkStatus();
}

bool AuditLog::IsThere() const {
  struct stat open = {};
  struct stat named = {};
  return file_ >= 0 && fstat(file_, &open) == 0 &&
         stat(path_.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

absl::Status AuditLog::Write(const std::string& line, bool durable) {
  if (!IsThere()) RETURN_IF_ERROR(OpenFile());
  // A partial line that a full disk accepted must not spoil this one.
  const std::string text = half_ ? "\n" + line : line;
  // A single write, so that lines of several programs do not mix.
  const ssize_t written = write(file_, text.data(), text.size());
  if (written < 0) return Failed("written to", path_);
  if (written > 0) half_ = text[static_cast<size_t>(written) - 1] != '\n';
  if (static_cast<size_t>(written) != text.size()) {
    errno = ENOSPC;
    return Failed("written to", path_);
  }
  // EINVAL: a pipe cannot be synced.
  if (durable && fsync(file_) != 0 && errno != EINVAL) {
    return Failed("made durable", path_);
  }
  return absl::OkStatus();
}

bool AuditLog::FileTakesLines() {
  if (path_.empty()) return false;
  absl::MutexLock lock(&mutex_);
  if (failed_ || (!IsThere() && !OpenFile().ok())) return false;
  // A full pipe, or one without a reader, accepts nothing.
  pollfd room = {file_, POLLOUT, 0};
  return poll(&room, 1, 0) > 0 && room.revents == POLLOUT;
}

absl::Status AuditLog::Admit() {
  if (FileTakesLines()) return absl::OkStatus();
  const absl::Status taken = logs::AwaitWritten();
  if (taken.ok()) return taken;
  return absl::FailedPreconditionError(absl::StrCat(
      "nothing was done, since the call's line for the audit log could not be "
      "written: ",
      taken.message(), kRemedy));
}

absl::Status AuditLog::AddToFile(const std::string& line, bool durable) {
  ++records_;
  if (path_.empty()) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  const absl::Status written = Write(absl::StrCat(line, "\n"), durable);
  failed_ = !written.ok();
  if (failed_) ++unwritten_;
  return written;
}

absl::Status AuditLog::WriteToLog(int severity, const std::string& text,
                                  bool waits) {
  const absl::Status logged =
      waits ? logs::WriteLine(severity, text) : logs::KeepLine(severity, text);
  if (logged.ok()) return logged;
  if (path_.empty()) ++unwritten_;
  return absl::FailedPreconditionError(absl::StrCat(
      "the call's line is not in the audit log: ", logged.message(), kRemedy));
}

absl::Status AuditLog::Add(const AuditRecord& record, bool waits) {
  const std::string line = AuditLine(record, calendar_());
  const absl::Status written = AddToFile(line, record.changes);
  if (!written.ok()) {
    return WriteToLog(google::GLOG_ERROR,
                      absl::StrCat(written.message(), "; audit: ", line),
                      waits);
  }
  if (!path_.empty()) return absl::OkStatus();
  return WriteToLog(google::GLOG_INFO, absl::StrCat("audit: ", line), waits);
}

void AuditLog::AddToLog(const AuditRecord& record) {
  const std::string line = AuditLine(record, calendar_());
  const absl::Status kept =
      logs::KeepLine(google::GLOG_INFO, absl::StrCat("audit: ", line));
  ++records_;
  if (!kept.ok() || !path_.empty()) ++unwritten_;
}

}  // namespace kamino::server
