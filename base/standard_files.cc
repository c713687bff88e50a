#include "base/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace kamino {

void OccupyStandardFiles() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    // It has the lowest free number, which is `fd`. It cannot be used for what
    // that number is for: an empty input would be taken for one that was given.
    const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", mode) != fd) std::abort();
  }
}

}  // namespace kamino
