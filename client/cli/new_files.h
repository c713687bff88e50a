// Writes files of the command line: a file is either complete under its name,
// or unchanged.
#ifndef KAMINO_CLIENT_CLI_NEW_FILES_H_
#define KAMINO_CLIENT_CLI_NEW_FILES_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kamino::client {

// The users that may read a file besides its owner.
enum class Readers { kOwner, kAll };
enum class Existing { kStays, kIsReplaced };

// Explains a failed write by its errno: the system's text, and for EFBIG the
// limit and where it is set.
std::string WhyNotWritten(int error);

// A file that appears under its name once it is complete. Until Publish it is
// PATH.unfinished. and six letters, and only its owner may read it. "-" is
// standard output, which gets the bytes at once. SIGINT, SIGTERM and SIGHUP,
// where they end the program, remove the unfinished file. Not thread-safe.
class NewFile {
 public:
  // kAlreadyExists: the file exists, and is left as it is. kInvalidArgument: it
  // cannot be made at `path`. kFailedPrecondition: the disk is full or fails.
  static absl::StatusOr<std::unique_ptr<NewFile>> Create(
      const std::string& path, Existing existing);
  // Removes the file unless it was published.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  bool is_output() const { return path_ == "-"; }
  const std::string& path() const { return path_; }
  // The creation time, by the file system's clock, in seconds since 1970; 0 for
  // standard output.
  int64_t made() const { return made_; }

  // kFailedPrecondition: it cannot be written.
  absl::Status Write(absl::string_view bytes);
  // As root, gives the file to the owner of its folder, so that a service that
  // runs as that user can read it.
  absl::Status GiveAway();
  // Sets the file's mode, which Publish may widen.
  absl::Status Allow(mode_t mode);
  // On return the file is durable and has its name. kAlreadyExists: another
  // process has made a file of that name meanwhile.
  absl::Status Publish(Readers readers = Readers::kOwner);

 private:
  NewFile(std::string path, Existing existing)
      : path_(std::move(path)), existing_(existing) {}
  absl::Status PublishOutput();
  absl::Status Name();

  const std::string path_;
  const Existing existing_;
  std::string unfinished_;  // "": nothing to remove
  int file_ = -1;
  int64_t made_ = 0;
};

// Writes a whole NewFile, and calls GiveAway on it. Errors: as NewFile's.
absl::Status WriteFile(const std::string& path, absl::string_view text,
                       Readers readers, Existing existing);

// Writes `bytes` to `path`. Replaces a regular file that has no other name and
// belongs to the caller as NewFile does, and keeps its mode. Writes a device, a
// pipe, a link or another user's file in place. kInvalidArgument: it cannot be
// opened. kFailedPrecondition: it cannot be written; in place, a part of the
// bytes may have been.
absl::Status WriteOver(const std::string& path, absl::string_view bytes);

// Makes a folder and its parents; an existing one stays unchanged. Errors: as
// NewFile::Create's.
absl::Status MakeFolder(const std::string& path, Readers readers);

bool IsThere(const std::string& path);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_NEW_FILES_H_
