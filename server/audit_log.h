// Calls of operators to a manager, with identity, arguments, time and outcome;
// one line of JSON for each call, appended. No line is dropped: a call whose
// line cannot be written fails. docs/operate/security.md has the fields.
#ifndef KAMINO_SERVER_AUDIT_LOG_H_
#define KAMINO_SERVER_AUDIT_LOG_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kamino::server {

struct AuditRecord {
  std::string who;   // identity; empty: no certificates
  std::string from;  // address, as gRPC has it
  std::string call;  // "/kamino.v1.AdminService/RemoveNode"
  std::string arguments;
  absl::Status outcome;
  // Whether the call may have changed something. Its record is then durable
  // before the call is answered.
  bool changes = false;
};

// Thread-safe.
class AuditLog {
 public:
  // Calendar times, for operators. Null: the machine's clock.
  using Calendar = std::function<absl::Time()>;

  // Appends to `path`; "": the program's own log has the lines, marked "audit:
  // ". kInvalidArgument: the file cannot be written.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(
      std::string path, Calendar calendar = nullptr);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // --- These wait for the disk, and for the reader of the log. They must run
  // on a thread that no other thread waits for (logs/audit_thread.h).

  // Call before an operator's call takes effect. kFailedPrecondition: its line
  // could not be written, and the call must fail. Waits for the reader of the
  // log as logs::AwaitWritten does.
  absl::Status Admit();

  // Writes the record's line. Creates the file again if it was renamed or
  // removed, so that logrotate can bound it. A line that the file does not take
  // goes to the program's own log, with the reason. kFailedPrecondition:
  // neither takes it, and the call must fail. `waits`: returns once the log has
  // written the line, as logs::WriteLine does; else once the log has queued it.
  absl::Status Add(const AuditRecord& record, bool waits = true);

  // --- This does not wait.

  // Queues the line of a call that was refused because other calls wait. It
  // goes to the program's own log, whatever the path. A line that the log does
  // not take counts as unwritten.
  void AddToLog(const AuditRecord& record);

  uint64_t records() const { return records_.load(); }
  // How many of these records are missing from the file of --audit_log or,
  // without a file, from the program's log.
  uint64_t unwritten() const { return unwritten_.load(); }

 private:
  AuditLog(std::string path, Calendar calendar);
  absl::Status AddToFile(const std::string& line, bool durable);
  absl::Status WriteToLog(int severity, const std::string& text, bool waits);
  bool FileTakesLines() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Write(const std::string& line, bool durable)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status OpenFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsThere() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  const Calendar calendar_;
  // Atomic, so that metrics do not wait for a write, which holds the mutex.
  std::atomic<uint64_t> records_{0};
  std::atomic<uint64_t> unwritten_{0};

  mutable absl::Mutex mutex_;
  int file_ ABSL_GUARDED_BY(mutex_) = -1;
  // The last write may have left a partial line at the end of the file.
  bool half_ ABSL_GUARDED_BY(mutex_) = false;
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;  // the last write to it
};

// As the log has it, without the line end.
std::string AuditLine(const AuditRecord& record, absl::Time at);

}  // namespace kamino::server

#endif  // KAMINO_SERVER_AUDIT_LOG_H_
