#include "base/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace kamino {

void OccupyStandardFiles() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    // open returned the lowest free number, which is `fd`. The descriptor has
    // the wrong direction, so that, for example, a read of the standard input
    // fails instead of returning an empty input.
    const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", mode) != fd) std::abort();
  }
}

}  // namespace kamino
