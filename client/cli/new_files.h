// Files that the command line writes and others read meanwhile: each is there
// whole, or as it was before.
#ifndef KAMINO_CLIENT_CLI_NEW_FILES_H_
#define KAMINO_CLIENT_CLI_NEW_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kamino::client {

// Who may read a file besides its owner.
enum class Readers { kNobody, kEverybody };
enum class Existing { kStays, kIsReplaced };

// Durable once it returns. Where this is root, the file belongs to the owner of
// its folder: who runs as another user can read keys that are made for him.
// kAlreadyExists: it is there, and stays. kFailedPrecondition: it cannot be
// written.
absl::Status WriteFile(const std::string& path, absl::string_view text,
                       Readers readers, Existing existing);

// Makes a folder, and those above it; one that is there stays as it is.
absl::Status MakeFolder(const std::string& path, Readers readers);

bool IsThere(const std::string& path);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_NEW_FILES_H_
