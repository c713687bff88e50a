// Reserves the descriptors 0, 1 and 2 if the parent process closed them.
#ifndef KAMINO_BASE_STANDARD_FILES_H_
#define KAMINO_BASE_STANDARD_FILES_H_

namespace kamino {

// Call before the program opens any file. Occupies each closed descriptor of 0,
// 1 and 2, so that no file of the program gets that number and receives, for
// example, log lines. Reads and writes still fail with EBADF. Ends the process
// if it cannot occupy them.
void OccupyStandardFiles();

}  // namespace kamino

#endif  // KAMINO_BASE_STANDARD_FILES_H_
