// Copies of files that are mostly holes, as stores' files are.
#ifndef KAMINO_LAB_SCHEMES_FILE_COPY_H_
#define KAMINO_LAB_SCHEMES_FILE_COPY_H_

#include <string>

#include "absl/status/status.h"

namespace kamino::bench::schemes {

// Writes over `to` if it is there. Holes stay holes. kNotFound: there is no
// file `from`; kResourceExhausted: it cannot be written, for want of space say.
absl::Status CopyFile(const std::string& from, const std::string& to);

}  // namespace kamino::bench::schemes

#endif  // KAMINO_LAB_SCHEMES_FILE_COPY_H_
