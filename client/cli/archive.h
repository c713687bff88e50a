// Writes an archive (.tar.gz) as its files are added.
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
  // Creates the archive, readable by its owner only, under its name once it is
  // complete; "-": standard output. Errors, here and below: as NewFile's.
  static absl::StatusOr<std::unique_ptr<Archive>> Create(
      const std::string& path);
  ~Archive();

  // Adds a file; `name` must be relative, without "..".
  absl::Status Add(const std::string& name, absl::string_view bytes);
  // Completes the archive; nothing can be added afterwards. Without this call
  // no file appears.
  absl::Status Finish();

 private:
  explicit Archive(std::unique_ptr<NewFile> file) : file_(std::move(file)) {}
  absl::Status Failed() const;

  const std::unique_ptr<NewFile> file_;
  absl::Status written_;  // the last error of the file
  struct archive* writer_ = nullptr;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_ARCHIVE_H_
