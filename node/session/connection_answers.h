// Collects the answers of one connection, which leave together, and hands
// frames to its carrier.
//
// Not thread-safe: the core thread owns it.
#ifndef KAMINO_NODE_SESSION_CONNECTION_ANSWERS_H_
#define KAMINO_NODE_SESSION_CONNECTION_ANSWERS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "head/request.h"
#include "node/driver/node.h"
#include "node/session/answered_requests.h"
#include "node/session/connection_access.h"
#include "node/session/held_bytes.h"
#include "node/session/pending_requests.h"
#include "node/session/session_carrier.h"
#include "proto/session_frame.h"

namespace kamino::node {

class ConnectionAnswers {
 public:
  // All outlive this.
  ConnectionAnswers(Node* node, SessionCarrier* carrier, HeldBytes* held,
                    const ConnectionAccess* access)
      : node_(*node),
        carrier_(*carrier),
        held_(*held),
        answered_(node, carrier, access) {}

  // Not OK: there is no room for an answer of some size.
  absl::Status CheckRoom();
  // `asked` is answered by the next Add. `times`: of a mutation, if slow ones
  // are reported.
  void Note(PendingRequest asked, absl::StatusCode code, size_t body_bytes,
            const head::RequestTimesSource* times) {
    answered_.Add(std::move(asked), code, body_bytes, times);
  }
  // Adds an answer; the caller stores its body at the result before
  // FlushIfFull. The connection has that session.
  char* Add(const session::Response& response, size_t body_bytes,
            uint64_t session);
  // Sends answers that fill a piece of the carrier.
  void FlushIfFull(uint64_t session);
  // Sends the collected answers.
  void Flush(uint64_t session);
  bool empty() const { return out_.empty(); }
  // Whether the peer sends requests and receives too few answers.
  bool IsExceeded() const { return held_.IsExceeded(out_.bytes()); }

  void Send(std::string frame);
  // As google.rpc.Status, with details for clients.
  std::string Explain(const absl::Status& status,
                      const std::string& request = "") const;

 private:
  Node& node_;
  SessionCarrier& carrier_;
  HeldBytes& held_;
  session::FrameWriter out_{session::FrameKind::kResponses};
  AnsweredRequests answered_;  // in out_
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_CONNECTION_ANSWERS_H_
