// Prints messages as JSON for programs.
#ifndef KAMINO_CLIENT_CLI_JSON_H_
#define KAMINO_CLIENT_CLI_JSON_H_

#include <string>

#include "google/protobuf/message.h"

namespace kamino::client {

// proto3 JSON with original field names: bytes are base64, 64-bit numbers are
// strings. Roles, conditions and similar enums are words, as in tables; reasons
// and outcomes have their full names, as in docs/use/client.md. Text is not
// escaped further.
std::string ToJson(const google::protobuf::Message& message);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_JSON_H_
