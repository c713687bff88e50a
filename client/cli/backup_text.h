// Output of the backup commands.
#ifndef KAMINO_CLIENT_CLI_BACKUP_TEXT_H_
#define KAMINO_CLIENT_CLI_BACKUP_TEXT_H_

#include <string>

#include "absl/time/time.h"
#include "kamino/v1/backup.pb.h"

namespace kamino::client {

kamino::v1::BackupSummary Summarize(const kamino::v1::BackupHeader& header,
                                    const kamino::v1::BackupTrailer& trailer,
                                    uint64_t file_bytes, absl::Duration took);

// Several lines, for users.
std::string Describe(const kamino::v1::BackupSummary& summary);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_BACKUP_TEXT_H_
