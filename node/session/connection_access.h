// The rights of a connection's peer.
//
// Not thread-safe: the core thread owns it.
#ifndef KAMINO_NODE_SESSION_CONNECTION_ACCESS_H_
#define KAMINO_NODE_SESSION_CONNECTION_ACCESS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "base/principal.h"
#include "node/session/pending_requests.h"
#include "node/session/session_carrier.h"
#include "proto/session_frame.h"
#include "security/access.h"

namespace kamino::node {

class ConnectionAccess {
 public:
  // Both outlive this. Null `access`: the peer may do everything.
  ConnectionAccess(security::Access* access, const SessionCarrier* carrier)
      : access_(access), carrier_(carrier) {}

  // Not OK: the peer may not send such a frame, have a session, or send such a
  // request now. CheckFrame is first: it looks up the peer's rights.
  absl::Status CheckFrame(session::FrameKind kind);
  absl::Status CheckMayHaveSession();
  absl::Status CheckMethod(session::Method method);

  // The peer's identity; null: everything is allowed.
  PrincipalPtr peer() const {
    return grant_ == nullptr ? nullptr : grant_->principal;
  }

  // Notes a request that was refused for a key or a session. Null `asked`: the
  // session itself was refused. `request`: its name.
  void NoteDenied(const absl::Status& status,
                  const PendingRequest* asked = nullptr,
                  const std::string& request = "");

 private:
  security::Access* const access_;
  const SessionCarrier* const carrier_;
  uint64_t generation_ = 0;  // of the grants, when grant_ was looked up
  security::GrantPtr grant_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_CONNECTION_ACCESS_H_
