// What operators have asked of a manager, and what came of it: who, what, when,
// outcome; a line of JSON for each call, written behind those that are there.
// docs/security.md has the fields.
#ifndef KAMINO_MEMBERSHIP_AUDIT_LOG_H_
#define KAMINO_MEMBERSHIP_AUDIT_LOG_H_

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

namespace kamino::membership {

struct AuditRecord {
  std::string who;   // identity; empty: nobody is asked here
  std::string from;  // address, as gRPC has it
  std::string call;  // "/kamino.v1.AdminService/RemoveNode"
  std::string arguments;
  absl::Status outcome;
  // Whether it may have changed something: then it is on the medium before it
  // is answered.
  bool changes = false;
};

// Thread-safe.
class AuditLog {
 public:
  // Times are of the calendar, for people. Null: the machine's.
  using Calendar = std::function<absl::Time()>;

  // `path` is written to, never over; "": the program's own log has the lines,
  // marked "audit: ". kInvalidArgument: it cannot be written to.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(
      std::string path, Calendar calendar = nullptr);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // A file that was renamed or removed meanwhile is begun anew, so that others
  // may bound what there is. What cannot be written goes to the program's own
  // log, with why.
  void Add(const AuditRecord& record);

  uint64_t records() const;
  uint64_t unwritten() const;  // of those: the file does not have them

 private:
  AuditLog(std::string path, Calendar calendar);
  absl::Status Write(const std::string& line, bool durable)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status OpenFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsThere() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  const Calendar calendar_;

  mutable absl::Mutex mutex_;
  int file_ ABSL_GUARDED_BY(mutex_) = -1;
  // It does not end with the end of a line, by what is known of it here.
  bool half_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t records_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t unwritten_ ABSL_GUARDED_BY(mutex_) = 0;
};

// As the log has it; without the end of the line.
std::string AuditLine(const AuditRecord& record, absl::Time at);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AUDIT_LOG_H_
