#include "lab/schemes/file_copy.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace kamino::bench::schemes {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }

 private:
  const int fd_;
};

// [begin, end) of one to the same place of the other.
bool CopyPart(int from, int to, off_t begin, off_t end) {
  if (lseek(to, begin, SEEK_SET) != begin) return false;
  while (begin < end) {
    const ssize_t copied =
        sendfile(to, from, &begin, static_cast<size_t>(end - begin));
    if (copied < 0 && errno == EINTR) continue;
    if (copied <= 0) return false;
  }
  return true;
}

bool CopyData(int from, int to) {
  struct stat status;
  if (fstat(from, &status) != 0 || ftruncate(to, status.st_size) != 0) {
    return false;
  }
  for (off_t end = 0; end < status.st_size;) {
    const off_t begin = lseek(from, end, SEEK_DATA);
    if (begin < 0) return errno == ENXIO;  // a hole up to the end
    end = lseek(from, begin, SEEK_HOLE);
    if (end < 0 || !CopyPart(from, to, begin, end)) return false;
  }
  return true;
}

}  // namespace

absl::Status CopyFile(const std::string& from, const std::string& to) {
  const Descriptor source(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (source.get() < 0) {
    return absl::NotFoundError(absl::StrCat(from, ": ", strerror(errno)));
  }
  const Descriptor target(
      open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (target.get() < 0 || !CopyData(source.get(), target.get())) {
    return absl::ResourceExhaustedError(
        absl::StrCat(to, ": ", strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench::schemes
