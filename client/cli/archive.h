// An archive (.tar.gz) that is written as it is put together.
#ifndef KAMINO_CLIENT_CLI_ARCHIVE_H_
#define KAMINO_CLIENT_CLI_ARCHIVE_H_

#include <ctime>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct archive;

namespace kamino::client {

// Not thread-safe.
class Archive {
 public:
  // Makes the file, which only its owner may read; "-": standard output.
  // kAlreadyExists: it is there.
  static absl::StatusOr<std::unique_ptr<Archive>> Create(
      const std::string& path);
  ~Archive();

  // A file in it; `name` has no .. in it, and does not begin with a /.
  absl::Status Add(const std::string& name, absl::string_view bytes);
  // Nothing is added behind it. Without it the file is not whole.
  absl::Status Finish();

 private:
  Archive(std::string path, int file) : path_(std::move(path)), file_(file) {}
  absl::Status Failed() const;

  const std::string path_;
  const int file_;
  struct archive* writer_ = nullptr;
  time_t made_ = 0;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_ARCHIVE_H_
