// The syntax of `kamino commit`.
//
//   commit    = { "if" condition } [ "then" ] { operation }
//               [ "else" { operation } ]
//   condition = "exists" KEY | "absent" KEY | "version" KEY N
//             | "value" KEY TEXT | "unchanged" START END SEQUENCE
//   operation = "put" KEY VALUE | "patch" KEY OFFSET DATA | "del" KEY
//             | "get" KEY
#ifndef KAMINO_CLIENT_CLI_COMMIT_WORDS_H_
#define KAMINO_CLIENT_CLI_COMMIT_WORDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/key_encoding.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::client {

// kInvalidArgument: the message names the wrong word.
absl::StatusOr<kamino::v1::CommitRequest> ParseCommit(
    const std::vector<std::string>& words,
    KeyEncoding keys = KeyEncoding::kByPlace);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_COMMIT_WORDS_H_
