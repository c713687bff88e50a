// The table of all requests to servers and of the roles that may make them:
// each gRPC method, each page except probes, each frame of the session protocol
// and each request in it. Requests that are not in the table are denied.
#ifndef KAMINO_SECURITY_ACCESS_TABLE_H_
#define KAMINO_SECURITY_ACCESS_TABLE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "security/roles.h"

namespace kamino::security {

enum class Asked {
  kCall,     // a method of gRPC
  kPage,     // a page of the HTTP listener
  kFrame,    // a session::FrameKind that clients send
  kRequest,  // a session::Method in a frame of requests
  kSession,  // opening a session, by a HELLO that names one
};

struct AccessRule {
  Asked kind;
  uint16_t number;         // kFrame, kRequest; otherwise 0
  absl::string_view name;  // kCall: "/package.Service/Method"; kPage: its path
  RoleSet roles;           // one of them is needed
};

absl::Span<const AccessRule> AccessTable();

// Null: not in the table, so denied.
const AccessRule* RuleOfCall(absl::string_view method);
const AccessRule* RuleOfPage(absl::string_view path);
const AccessRule* RuleOfFrame(uint8_t kind);
const AccessRule* RuleOfRequest(uint16_t method);
// The rule for a HELLO that names a session.
const AccessRule* RuleOfSession();

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_ACCESS_TABLE_H_
