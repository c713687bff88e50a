// An archive (.tar.gz) that is written as it is put together.
#ifndef KAMINO_CLIENT_CLI_ARCHIVE_H_
#define KAMINO_CLIENT_CLI_ARCHIVE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/new_files.h"

struct archive;

namespace kamino::client {

// Not thread-safe.
class Archive {
 public:
  // Makes the file, which only its owner may read, and which is there once it
  // is whole; "-": standard output. Errors, here and below: as NewFile's.
  static absl::StatusOr<std::unique_ptr<Archive>> Create(
      const std::string& path);
  ~Archive();

  // A file in it; `name` has no .. in it, and does not begin with a /.
  absl::Status Add(const std::string& name, absl::string_view bytes);
  // Nothing is added behind it. Without it there is no file.
  absl::Status Finish();

 private:
  explicit Archive(std::unique_ptr<NewFile> file) : file_(std::move(file)) {}
  absl::Status Failed() const;

  const std::unique_ptr<NewFile> file_;
  absl::Status written_;  // what the last error of the file was
  struct archive* writer_ = nullptr;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_ARCHIVE_H_
