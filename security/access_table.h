// The one table of everything that can be asked of a server, and of the roles
// that may: each method of gRPC, each page but for probes, each frame of the
// sessions' protocol and each request in one. What is not in it nobody may.
#ifndef KAMINO_SECURITY_ACCESS_TABLE_H_
#define KAMINO_SECURITY_ACCESS_TABLE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "security/roles.h"

namespace kamino::security {

enum class Asked {
  kCall,     // a method of gRPC
  kPage,     // of the HTTP listener
  kFrame,    // a session::FrameKind, of those that clients send
  kRequest,  // a session::Method, of a frame of requests
  kSession,  // to have a session, by a HELLO that names one
};

struct AccessRule {
  Asked kind;
  uint16_t number;         // kFrame, kRequest; else 0
  absl::string_view name;  // kCall: as gRPC's, "/package.Service/Method";
                           // kPage: its path
  RoleSet roles;           // any of them
};

absl::Span<const AccessRule> AccessTable();

// Null: nobody may.
const AccessRule* RuleOfCall(absl::string_view method);
const AccessRule* RuleOfPage(absl::string_view path);
const AccessRule* RuleOfFrame(uint8_t kind);
const AccessRule* RuleOfRequest(uint16_t method);
// Of whose HELLO names a session.
const AccessRule* RuleOfSession();

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_ACCESS_TABLE_H_
