// Calls and file accesses that the backup commands share.
#ifndef KAMINO_CLIENT_CLI_BACKUP_CALLS_H_
#define KAMINO_CLIENT_CLI_BACKUP_CALLS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/backup.h"
#include "client/cli/cli.h"
#include "client/cli/old_file.h"
#include "kamino/v1/backup.pb.h"

namespace kamino::client {

struct NodePlace {
  std::string address;
  rpc::ChannelOptions channel;  // to nodes of the chain's cluster
};
// The present tail. kUnavailable: the chain has none.
absl::StatusOr<NodePlace> FindTail(Cli* cli);
// The present head; "": the chain has none.
std::string FindHead(const Client& client);
// Options for a channel to a node of the client's cluster, by the settings.
absl::StatusOr<rpc::ChannelOptions> ChannelFor(Cli* cli, const Client& client,
                                               const std::string& address);

// The hash of the tail's objects.
absl::StatusOr<kamino::v1::BackupTrailer> HashOf(
    const NodePlace& tail, bool while_restoring,
    kamino::v1::BackupHeader* header);

// Reads the whole file; calls `passed` with the bytes read so far. Errors as
// BackupReader's.
absl::StatusOr<kamino::v1::BackupSummary> VerifyBackup(
    OldFile* file, absl::FunctionRef<void(uint64_t bytes)> passed);

// Whether a failed save is worth a retry: the tail was lost or has changed, too
// many mutations came, or the client was too slow.
bool MayGoWellAgain(const absl::Status& status);

std::string RandomBackupId();

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_BACKUP_CALLS_H_
