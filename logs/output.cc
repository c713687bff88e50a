#include "logs/output.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kamino::logs {
namespace {

// Opens the pipe or terminal behind `file` once more, for this process alone.
// -1: the process may not (another user owns it), has no descriptor left, or
// the pipe has no reader.
int OpenAgain(int file) {
  char path[32] = "/proc/self/fd/";
  size_t size = strlen(path);
  char reversed[16];
  size_t digits = 0;
  do {
    reversed[digits++] = static_cast<char>('0' + file % 10);
    file /= 10;
  } while (file > 0);
  while (digits > 0) path[size++] = reversed[--digits];
  path[size] = '\0';
  return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

// Writes to what other processes share and may have blocking. EAGAIN: it takes
// nothing now.
ssize_t WriteShared(int file, const char* bytes, size_t size) {
  iovec piece = {const_cast<char*>(bytes), size};
  const ssize_t written = pwritev2(file, &piece, 1, -1, RWF_NOWAIT);
  if (written >= 0) return written;
  // An older kernel, a filter of system calls, or a device that cannot do that.
  const bool may_not = errno == EOPNOTSUPP || errno == ENOSYS ||
                       errno == EPERM || errno == EINVAL;
  if (!may_not) return written;
  // It may still block here, if another process takes the room that poll has
  // seen.
  pollfd waited = {file, POLLOUT, 0};
  if (poll(&waited, 1, 0) <= 0) {
    errno = EAGAIN;
    return -1;
  }
  return write(file, bytes, size);
}

}  // namespace

Output::Output(int file) : file_(file) {
  struct stat status = {};
  if (file < 0 || fstat(file, &status) != 0) return;
  if (S_ISREG(status.st_mode)) {
    kind_ = Kind::kFile;
  } else if (S_ISSOCK(status.st_mode)) {
    kind_ = Kind::kSocket;
  } else if (S_ISFIFO(status.st_mode) || isatty(file) == 1) {
    const int again = OpenAgain(file);
    if (again < 0) return;
    file_ = again;
    own_ = true;
  }
}

Output::~Output() {
  if (own_) close(file_);
}

bool Output::AwaitRoom(int wait_ms) const {
  pollfd waited = {file_, POLLOUT, 0};
  return poll(&waited, 1, wait_ms) > 0;
}

ssize_t Output::Write(const char* bytes, size_t size) const {
  // A file takes a line whole, so that lines of several processes do not mix.
  if (kind_ == Kind::kFile) return write(file_, bytes, size);
  if (kind_ == Kind::kSocket) {
    return send(file_, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  // A pipe that poll calls writable has room for so much.
  const size_t most = std::min<size_t>(size, PIPE_BUF);
  return own_ ? write(file_, bytes, most) : WriteShared(file_, bytes, most);
}

}  // namespace kamino::logs
