// Saving a cluster's objects, and bringing them back: what the nodes are asked
// for. docs/operate/backup.md. Blocking; no retries but those of a restore's
// steps.
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

// What Save hands on, in this order. The first error ends it.
struct BackupSink {
  std::function<absl::Status(const kamino::v1::BackupHeader&)> begin;
  std::function<absl::Status(absl::string_view records)> add;
  // Objects so far, where only the hash is asked for; may be null.
  std::function<void(uint64_t objects)> passed;
};

// Reads all objects of the chain whose tail is at `tail`, as of one moment, and
// passes them to `sink`. Returns the trailer; without it the records are no
// backup. Goes on if the node stops being the tail meanwhile. kUnavailable
// also: the connection is lost midway. kResourceExhausted (REASON_OVERLOADED)
// also: `sink` was too slow.
absl::StatusOr<kamino::v1::BackupTrailer> SaveBackup(
    const std::string& tail, const rpc::ChannelOptions& channel,
    const kamino::v1::SaveRequest& request, const BackupSink& sink);

// Steps of a restore, several at a time. Thread-safe.
class Restorer {
 public:
  struct Options {
    // For channels to the head. `cluster` names the cluster that the backup is
    // restored into, not the one that it comes from.
    rpc::ChannelOptions channel;
    // Where the head is now; asked again when a step has failed.
    std::function<std::string()> head;
    // A step fails if the cluster does not accept it within this time.
    absl::Duration timeout = absl::Seconds(30);
  };
  explicit Restorer(Options options);
  ~Restorer();

  // Until it is done, or refused, or the timeout has passed. After that it may
  // have been done, or be done yet (MayBeDone).
  absl::StatusOr<kamino::v1::RestoreResponse> Step(
      const kamino::v1::RestoreRequest& request);

 private:
  struct Stub;
  std::shared_ptr<Stub> StubOf(const std::string& address);

  const Options options_;
  struct Stubs;
  const std::unique_ptr<Stubs> stubs_;
};

// Of an error of Step: whether the cluster did not refuse it.
bool MayBeDone(const absl::Status& status);

// Cuts records into pieces that one step may bring, in order.
absl::Status CutIntoSteps(
    absl::string_view records,
    absl::FunctionRef<absl::Status(absl::string_view piece)> take);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_BACKUP_H_
