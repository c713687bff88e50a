// Programs that are started with some of the descriptors 0, 1 and 2 closed.
#include "base/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "gtest/gtest.h"

namespace kamino {
namespace {

// Whether, in a child, a file that is opened afterwards has a number of its
// own, and the closed ones can be neither read nor written.
bool Holds(bool occupies) {
  for (int fd : {0, 1, 2}) close(fd);
  if (occupies) OccupyStandardFiles();
  const bool apart = open("/dev/null", O_RDWR) > STDERR_FILENO;
  char byte = 0;
  const bool reads = read(STDIN_FILENO, &byte, 1) >= 0 || errno != EBADF;
  const bool writes = write(STDOUT_FILENO, &byte, 1) >= 0 || errno != EBADF;
  const bool logs = write(STDERR_FILENO, &byte, 1) >= 0 || errno != EBADF;
  return apart && !reads && !writes && !logs;
}

TEST(StandardFilesDeathTest, NoOtherFileGetsAStandardDescriptor) {
  EXPECT_EXIT(_exit(Holds(true) ? 0 : 1), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(_exit(Holds(false) ? 0 : 1), testing::ExitedWithCode(1), "");
}

TEST(StandardFilesTest, OpenStandardFilesAreUnchanged) {
  OccupyStandardFiles();
  EXPECT_GE(write(STDERR_FILENO, "", 0), 0);
}

}  // namespace
}  // namespace kamino
