#include "security/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace kamino::security {

absl::StatusOr<std::string> ReadRegularFile(const std::string& path) {
  const auto bad = [&path](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(path, why));
  };
  // Opening a pipe would block, so the type is checked after a non-blocking
  // open.
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) {
    return bad(absl::StrCat(" cannot be read: ", std::strerror(errno)));
  }
  const absl::Cleanup close_file = [file] { close(file); };
  struct stat info = {};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    return bad(" cannot be read: it is no regular file");
  }
  std::string text(kMaxRegularFile + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(file, &text[size], text.size() - size);
    if (got == 0) break;
    if (got < 0 && errno != EINTR) {
      return bad(absl::StrCat(" cannot be read: ", std::strerror(errno)));
    }
    if (got > 0) size += static_cast<size_t>(got);
  }
  if (size > kMaxRegularFile) return bad(" is more than a MiB");
  text.resize(size);
  return text;
}

}  // namespace kamino::security
