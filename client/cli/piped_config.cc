#include "client/cli/piped_config.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "config/toml_file.h"

namespace kamino::client {
namespace {

absl::Status Bad(const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", why));
}

absl::Status CannotRead(const std::string& path) {
  return Bad(path, absl::StrCat("the configuration file cannot be read: ",
                                std::strerror(errno)));
}

// Waits until the pipe has bytes to read or its last writer has closed it. A
// pipe that no writer has opened yet is in neither state.
absl::Status AwaitWriter(int pipe, const std::string& path, absl::Time end) {
  for (;;) {
    const absl::Duration left = end - MonotonicNow();
    if (left <= absl::ZeroDuration()) {
      return Bad(path, "no program has written and closed this pipe in time");
    }
    pollfd wait = {pipe, POLLIN, 0};
    const int ready =
        poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return CannotRead(path);
  }
}

absl::StatusOr<std::string> ReadPipe(const std::string& path,
                                     absl::Duration patience) {
  // Without O_NONBLOCK open waits for a writer, without a bound.
  const int pipe =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (pipe < 0) return CannotRead(path);
  const auto closed = absl::MakeCleanup([pipe] { close(pipe); });
  const absl::Time end = MonotonicNow() + patience;
  std::string bytes;
  char part[1 << 16];
  for (;;) {
    RETURN_IF_ERROR(AwaitWriter(pipe, path, end));
    const ssize_t got = read(pipe, part, sizeof(part));
    if (got == 0) return bytes;
    if (got < 0 && errno != EINTR && errno != EAGAIN) return CannotRead(path);
    if (got > 0) bytes.append(part, static_cast<size_t>(got));
    if (bytes.size() > config::kMaxConfigBytes) {
      return Bad(path,
                 absl::StrCat("has over ", config::kMaxConfigBytes,
                              " bytes, the limit of a configuration file"));
    }
  }
}

// A path at which this process can read a copy of `bytes`. The file behind it
// stays open until the process ends.
absl::StatusOr<std::string> InMemory(const std::string& path,
                                     absl::string_view bytes) {
  const int file = memfd_create("kamino-config", MFD_CLOEXEC);
  if (file < 0) return CannotRead(path);
  while (!bytes.empty()) {
    const ssize_t put = write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      absl::Status failed = CannotRead(path);
      close(file);
      return failed;
    }
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return absl::StrCat("/proc/self/fd/", file);
}

}  // namespace

absl::StatusOr<std::string> ReadableConfig(const std::string& path,
                                           absl::Duration patience) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0 ||
      (!S_ISFIFO(info.st_mode) && !S_ISCHR(info.st_mode))) {
    return path;
  }
  static auto* mutex = new absl::Mutex;
  static auto* copies = new std::map<std::string, std::string>;
  absl::MutexLock lock(mutex);
  if (const auto copy = copies->find(path); copy != copies->end()) {
    return copy->second;
  }
  ASSIGN_OR_RETURN(const std::string bytes, ReadPipe(path, patience));
  ASSIGN_OR_RETURN(std::string copy, InMemory(path, bytes));
  (*copies)[path] = copy;
  return copy;
}

}  // namespace kamino::client
