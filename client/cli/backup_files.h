// Files that backups are written to and read from.
#ifndef KAMINO_CLIENT_CLI_BACKUP_FILES_H_
#define KAMINO_CLIENT_CLI_BACKUP_FILES_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kamino::client {

// A file that is there under its name only when it is whole: until Publish it
// has another one. "-" is standard output, which is as it comes.
class NewFile {
 public:
  // kAlreadyExists: there is one, and no `force`.
  static absl::StatusOr<std::unique_ptr<NewFile>> Create(
      const std::string& path, bool force);
  // One that was not published is removed.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  bool is_output() const { return path_ == "-"; }
  absl::Status Write(absl::string_view bytes);
  // Durable, and under its name, when this returns.
  absl::Status Publish();

 private:
  NewFile(std::string path, bool force)
      : path_(std::move(path)), force_(force) {}

  const std::string path_;
  const bool force_;
  std::string unfinished_;  // "": nothing to remove
  int file_ = -1;
};

// "-" is standard input.
class OldFile {
 public:
  // kInvalidArgument: it cannot be opened.
  static absl::StatusOr<std::unique_ptr<OldFile>> Open(const std::string& path);
  ~OldFile();
  OldFile(const OldFile&) = delete;
  OldFile& operator=(const OldFile&) = delete;

  // Whether it can be read again from the begin.
  bool can_rewind() const { return can_rewind_; }
  absl::Status Rewind();
  // As BackupReader::Read.
  absl::StatusOr<size_t> Read(char* to, size_t most);

 private:
  OldFile(std::string path, int file) : path_(std::move(path)), file_(file) {}

  const std::string path_;
  const int file_;
  bool can_rewind_ = false;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_BACKUP_FILES_H_
