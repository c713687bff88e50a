// The descriptors 0, 1 and 2 of a process whose parent has closed some.
#ifndef KAMINO_BASE_STANDARD_FILES_H_
#define KAMINO_BASE_STANDARD_FILES_H_

namespace kamino {

// Before the program opens any file: occupies each closed one of 0, 1 and 2, so
// that no file of the program gets that number and with it, for example, the
// text of its log. Reading from it or writing to it fails with EBADF, as
// before. Ends the process if even that is not possible.
void OccupyStandardFiles();

}  // namespace kamino

#endif  // KAMINO_BASE_STANDARD_FILES_H_
