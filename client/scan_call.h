// One scan with its retries: a stream from the tail, which is opened again
// behind the last key when it breaks. Private to the library.
#ifndef KAMINO_CLIENT_SCAN_CALL_H_
#define KAMINO_CLIENT_SCAN_CALL_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/runner.h"
#include "client/trace_scope.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::client {

// The consumer pulls part by part, so that a slow one slows the server. One
// consumer at a time; callbacks run on a thread of gRPC or of the timer.
class ScanCall : public std::enable_shared_from_this<ScanCall> {
 public:
  // True: part() holds the next part; false: the scan is complete.
  using PartDone = std::function<void(absl::StatusOr<bool>)>;

  // Call after entering the runner; the scan leaves it when the object and the
  // stream are gone. `timeout` applies to each part, including retries: a scan
  // without a new part, or with only empty parts, for that long ends with
  // kDeadlineExceeded.
  ScanCall(Runner* runner, kamino::v1::ScanRequest request,
           absl::Duration timeout);
  ~ScanCall();

  // Must not be called while another Next is outstanding, or after false, an
  // error or Stop.
  void Next(PartDone done);
  const kamino::v1::ScanResponse& part() const { return part_; }

  // Ends the scan early.
  void Stop();

 private:
  class Stream;

  void MakeRoom();
  void Open();
  void OnPart();
  void OnEnd(const absl::Status& status);
  void Retry(const absl::Status& status);
  void Reopen(absl::Duration delay, bool refresh);
  void Answer(absl::StatusOr<bool> answer);
  // Runs the callback on this stack.
  void Tell(absl::StatusOr<bool> answer);

  // The timeout of the next attempt. It grows with each attempt that brought no
  // part, so that a slow node's part can arrive.
  absl::Duration AttemptTimeout() const;
  absl::Status NoPartInTime() const;

  Runner* const runner_;
  const absl::Duration timeout_;
  kamino::v1::ScanRequest rest_;  // the remaining range
  kamino::v1::ScanResponse part_;
  const std::string trace_ = TraceScope::current();
  Stream* stream_ = nullptr;  // owns itself; shares this object
  std::string address_;       // of the node that is asked
  PartDone done_;
  absl::Time deadline_;
  absl::Status last_error_ = absl::UnavailableError("no chain is known");
  int attempts_ = 0;  // since the last part
  uint64_t parts_ = 0;
  bool got_on_ = true;     // objects have come since the deadline was set
  bool complete_ = false;  // the limit is reached
  bool room_made_ = false;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_SCAN_CALL_H_
