#include "client/cli/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::client {
namespace {

absl::Status CannotRead(const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "cannot read ", path == "-" ? "standard input" : path, ": ", why));
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t most) {
  const bool standard_input = path == "-";
  const int fd =
      standard_input ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return CannotRead(path, std::strerror(errno));
  const auto closed = absl::MakeCleanup([&] {
    if (!standard_input) close(fd);
  });
  std::string bytes;
  char part[1 << 16];
  for (;;) {
    const ssize_t got = read(fd, part, sizeof(part));
    if (got == 0) return bytes;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(path, std::strerror(errno));
    bytes.append(part, static_cast<size_t>(got));
    if (bytes.size() > most) {
      return CannotRead(path, absl::StrCat("it has over ", most, " bytes"));
    }
  }
}

absl::Status ReadLines(const std::string& path,
                       absl::FunctionRef<absl::Status(std::string)> take) {
  std::ifstream file(path);
  if (!file) return CannotRead(path, std::strerror(errno));
  for (std::string line; std::getline(file, line);) {
    RETURN_IF_ERROR(take(std::move(line)));
  }
  // A folder opens, and cannot be read.
  return file.bad() ? CannotRead(path, std::strerror(errno)) : absl::OkStatus();
}

}  // namespace kamino::client
