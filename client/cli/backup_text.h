// What the backup commands print.
#ifndef KAMINO_CLIENT_CLI_BACKUP_TEXT_H_
#define KAMINO_CLIENT_CLI_BACKUP_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kamino/v1/backup.pb.h"

namespace kamino::client {

kamino::v1::BackupSummary Summarize(const kamino::v1::BackupHeader& header,
                                    const kamino::v1::BackupTrailer& trailer,
                                    uint64_t file_bytes, absl::Duration took);

// Lines, for people.
std::string Describe(const kamino::v1::BackupSummary& summary);

// Bytes that have gone through, on stderr: redrawn on a terminal, nothing
// elsewhere.
class ByteTally {
 public:
  explicit ByteTally(std::string what);
  ~ByteTally();
  ByteTally(const ByteTally&) = delete;
  ByteTally& operator=(const ByteTally&) = delete;

  void Show(uint64_t bytes);

 private:
  const std::string what_;
  const bool terminal_;
  const absl::Time begun_;
  absl::Time shown_ = absl::InfinitePast();
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_BACKUP_TEXT_H_
