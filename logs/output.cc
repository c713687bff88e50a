#include "logs/output.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kamino::logs {
namespace {

// Opens the pipe behind `file` once more, for this process alone. -1: the
// process may not (another user owns the pipe), or the pipe has no reader.
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
  return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

}  // namespace

Output::Output(int file) : file_(file) {
  struct stat status = {};
  if (file < 0 || fstat(file, &status) != 0) return;
  if (S_ISREG(status.st_mode)) {
    kind_ = Kind::kFile;
  } else if (S_ISSOCK(status.st_mode)) {
    kind_ = Kind::kSocket;
  } else if (S_ISFIFO(status.st_mode)) {
    kind_ = Kind::kPipe;
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
  // A single write keeps the line whole, so that lines of several processes do
  // not mix.
  if (kind_ == Kind::kFile) return write(file_, bytes, size);
  if (kind_ == Kind::kSocket) {
    return send(file_, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  // If poll reports a pipe as writable, it has room for this much.
  const size_t most = std::min<size_t>(size, PIPE_BUF);
  if (!own_ && !AwaitRoom(0)) {
    errno = EAGAIN;
    return -1;
  }
  return write(file_, bytes, most);
}

}  // namespace kamino::logs
