// Saves and restores a cluster's objects (docs/operate/backup.md). Blocking;
// only the steps of a restore are retried.
#ifndef KAMINO_CLIENT_BACKUP_H_
#define KAMINO_CLIENT_BACKUP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kamino/v1/backup.pb.h"
#include "rpc/channel.h"

namespace kamino::client {

// Receives the parts of a backup, in this order. The first error ends the save.
struct BackupSink {
  std::function<absl::Status(const kamino::v1::BackupHeader&)> begin;
  std::function<absl::Status(absl::string_view records)> add;
  // With hash_only: the number of objects so far; may be null.
  std::function<void(uint64_t objects)> passed;
};

// Reads all objects as of one moment from the node at `tail` and passes them to
// `sink`. Returns the trailer; records without a trailer are not a backup.
// Continues if the node stops being the tail. kUnavailable also: the connection
// was lost. kResourceExhausted (REASON_OVERLOADED) also: `sink` was too slow.
absl::StatusOr<kamino::v1::BackupTrailer> SaveBackup(
    const std::string& tail, const rpc::ChannelOptions& channel,
    const kamino::v1::SaveRequest& request, const BackupSink& sink);

// Executes the steps of a restore, several at a time. Thread-safe.
class Restorer {
 public:
  struct Options {
    // For channels to the head. `cluster` names the cluster that is restored,
    // not the origin of the backup.
    rpc::ChannelOptions channel;
    // Returns the address of the present head; called again after a failed
    // step.
    std::function<std::string()> head;
    // A step fails if the cluster does not accept it within this time.
    absl::Duration timeout = absl::Seconds(30);
  };
  explicit Restorer(Options options);
  ~Restorer();

  // Retries until the step is done or refused, or the timeout has passed. After
  // an error the step may have been executed, or may be executed later, if an
  // attempt had no answer (MayBeDone).
  absl::StatusOr<kamino::v1::RestoreResponse> Step(
      const kamino::v1::RestoreRequest& request);

 private:
  struct Stub;
  std::shared_ptr<Stub> StubOf(const std::string& address);

  const Options options_;
  struct Stubs;
  const std::unique_ptr<Stubs> stubs_;
};

// Whether the step may have been executed although Step returned this error.
bool MayBeDone(const absl::Status& status);

// Splits records into pieces for one step each, in order.
absl::Status CutIntoSteps(
    absl::string_view records,
    absl::FunctionRef<absl::Status(absl::string_view piece)> take);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_BACKUP_H_
