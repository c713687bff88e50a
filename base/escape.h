// Shows bytes, such as keys and texts of other processes, as text.
#ifndef KAMINO_BASE_ESCAPE_H_
#define KAMINO_BASE_ESCAPE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace kamino {

// Any bytes as one line without tabs. Well-formed UTF-8 stays as it is, except
// that \\, \t, \n and \r are escaped. Control characters and bytes that are not
// UTF-8 become \xHH; so does a leading byte order mark, which readers of files
// would drop.
std::string Escape(absl::string_view bytes);

// Text from another process, safe for a terminal: as Escape, but a backslash
// stays as it is. No byte of it moves the cursor or acts as a command.
std::string Printable(absl::string_view bytes);

// As Escape, but leaves valid UTF-8 unchanged.
std::string ToUtf8(absl::string_view bytes);

}  // namespace kamino

#endif  // KAMINO_BASE_ESCAPE_H_
