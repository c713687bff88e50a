// What the backup commands ask of a cluster, and of files.
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
  rpc::ChannelOptions channel;  // of the chain's cluster
};
// As the chain is now. kUnavailable: it has none.
absl::StatusOr<NodePlace> FindTail(Cli* cli);
// "": it has none.
std::string FindHead(const Client& client);
// To a node of the client's cluster, as the settings say.
absl::StatusOr<rpc::ChannelOptions> ChannelFor(Cli* cli, const Client& client,
                                               const std::string& address);

// Of what the tail holds.
absl::StatusOr<kamino::v1::BackupTrailer> HashOf(
    const NodePlace& tail, bool while_restoring,
    kamino::v1::BackupHeader* header);

// Reads all of it; `passed` gets the bytes so far. Errors as BackupReader's.
absl::StatusOr<kamino::v1::BackupSummary> VerifyBackup(
    OldFile* file, absl::FunctionRef<void(uint64_t bytes)> passed);

// Of a save: the tail was lost or is another one, too much has changed, or
// nobody took what came.
bool MayGoWellAgain(const absl::Status& status);

std::string RandomBackupId();

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_BACKUP_CALLS_H_
