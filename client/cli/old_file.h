// Reads a file piece by piece, for example a backup.
#ifndef KAMINO_CLIENT_CLI_OLD_FILE_H_
#define KAMINO_CLIENT_CLI_OLD_FILE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kamino::client {

// "-" is standard input. kInvalidArgument: it cannot be opened or read; never
// an error about its content. Not thread-safe.
class OldFile {
 public:
  static absl::StatusOr<std::unique_ptr<OldFile>> Open(const std::string& path);
  ~OldFile();
  OldFile(const OldFile&) = delete;
  OldFile& operator=(const OldFile&) = delete;

  // Prefixes `error`, which is about the file's content, with the file's name.
  absl::Status Named(const absl::Status& error) const;

  // Whether Rewind can start over.
  bool can_rewind() const { return can_rewind_; }
  absl::Status Rewind();
  // Reads up to `most` bytes to `to` and returns how many: fewer than `most`
  // only at the end of the file.
  absl::StatusOr<size_t> Read(char* to, size_t most);

 private:
  OldFile(std::string path, int file) : path_(std::move(path)), file_(file) {}

  const std::string path_;
  const int file_;
  bool can_rewind_ = false;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_OLD_FILE_H_
