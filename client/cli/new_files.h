// Files that the command line writes: each is there under its name whole, or as
// it was before.
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

// Who may read a file besides its owner.
enum class Readers { kNobody, kEverybody };
enum class Existing { kStays, kIsReplaced };

// Why a write has failed, by its errno: the system's words, and for EFBIG where
// the limit comes from.
std::string WhyNotWritten(int error);

// Until Publish it has another name, PATH.unfinished. and six letters. "-" is
// standard output, which is as it comes. Its owner's alone until then. SIGINT,
// SIGTERM and SIGHUP, where they end the program, remove it first. Not
// thread-safe.
class NewFile {
 public:
  // kAlreadyExists: it is there, and stays. kInvalidArgument: it cannot be
  // made there. kFailedPrecondition: the disk has no room for it.
  static absl::StatusOr<std::unique_ptr<NewFile>> Create(
      const std::string& path, Existing existing);
  // One that was not published is removed.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  bool is_output() const { return path_ == "-"; }
  const std::string& path() const { return path_; }
  // When it was made, by its file system, in seconds since 1970; 0 of standard
  // output.
  int64_t made() const { return made_; }

  // kFailedPrecondition: it cannot be written.
  absl::Status Write(absl::string_view bytes);
  // To the owner of its folder, where this is root: who runs as another user
  // can read what is made for him.
  absl::Status GiveAway();
  // Gives it this mode, which Publish may widen.
  absl::Status Allow(mode_t mode);
  // Durable, and under its name, when this returns. kAlreadyExists: somebody
  // has made it meanwhile.
  absl::Status Publish(Readers readers = Readers::kNobody);

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

// All of one, given away. Errors: as NewFile's.
absl::Status WriteFile(const std::string& path, absl::string_view text,
                       Readers readers, Existing existing);

// A file, or what else is at `path`, gets these bytes. A regular file that has
// no other name and belongs to the caller is replaced as a NewFile is; a
// device, a pipe, a link and another user's file are written in place. The file
// keeps its mode. kInvalidArgument: it cannot be opened. kFailedPrecondition:
// it cannot be written; in place, some of the bytes may be there.
absl::Status WriteOver(const std::string& path, absl::string_view bytes);

// Makes a folder, and those above it; one that is there stays as it is.
// Errors: as NewFile::Create's.
absl::Status MakeFolder(const std::string& path, Readers readers);

bool IsThere(const std::string& path);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_NEW_FILES_H_
