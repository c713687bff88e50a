// One connection of a client: greets, passes requests to the node in order, and
// collects the answers, which leave together at the end of each batch.
// docs/formats/session.md is the protocol.
//
// Not thread-safe: the core thread owns it.
#ifndef KAMINO_NODE_SESSION_SESSION_CONNECTION_H_
#define KAMINO_NODE_SESSION_SESSION_CONNECTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "head/request.h"
#include "head/session_table.h"
#include "kamino/v1/session.pb.h"
#include "node/driver/node.h"
#include "node/session/connection_access.h"
#include "node/session/connection_answers.h"
#include "node/session/held_bytes.h"
#include "node/session/pending_requests.h"
#include "node/session/session_carrier.h"
#include "node/session/session_limits.h"
#include "proto/session_frame.h"
#include "security/access.h"

namespace kamino::node {

// The data that all connections of a server use. The pointers outlive them.
struct ConnectionContext {
  const SessionLimits* limits;
  Node* node;
  security::Access* access;  // the peers' rights; null: everything
  size_t* all_held;          // bytes of all connections (HeldBytes)
};

class SessionConnection {
 public:
  // Finds this connection for an answer, if it still exists: requests outlive
  // connections.
  using Finder = std::function<SessionConnection*()>;

  SessionConnection(const ConnectionContext& context,
                    std::unique_ptr<SessionCarrier> carrier, Finder find,
                    absl::Time now);

  void OnFrame(absl::string_view bytes, absl::Time now);
  void OnTick(absl::Time now);
  // The carrier's peer has received something.
  void OnWritable();

  // Sends the collected answers.
  void Flush() { answers_.Flush(session_.id); }
  bool has_answers() const { return !answers_.empty(); }

  // The protocol has ended, and the carrier knows.
  bool ended() const { return state_ == State::kEnded; }

  const HeldBytes& held() const { return held_; }
  // Ends without a message.
  void Abort(absl::string_view why);

 private:
  enum class State { kGreeting, kOpening, kOpen, kEnded };

  void OnHello(absl::string_view body, absl::Time now);
  void OpenSession(const kamino::v1::SessionName& asked_for, absl::Time now);
  void OnOpened(absl::StatusOr<head::SessionInfo> opened);
  void Welcome(const kamino::v1::SessionName* session);
  // Notes that a request was refused for a key or a session.
  void NoteDenied(const absl::Status& status, uint32_t tag);
  // Not OK: the connection ends with that.
  absl::Status OnRequest(const session::Request& request, absl::Time now);
  void Begin(const session::Request& request, absl::Time now);
  absl::Status CheckRoom(const session::Request& request);

  void Read(const session::Request& request);
  void Mutate(const session::Request& request, absl::Time now);
  void KeepAlive(uint32_t tag, absl::Time now);
  void CloseSession(uint32_t tag);

  // `times`: of a mutation, if slow ones are reported.
  void Answer(uint32_t tag, const absl::Status& status, uint64_t sequence,
              absl::string_view body,
              const head::RequestTimesSource* times = nullptr);
  // The same for a body that the caller stores at the result before EndAnswer;
  // null: no answer is possible.
  char* BeginAnswer(uint32_t tag, const absl::Status& status, uint64_t sequence,
                    size_t body_bytes,
                    const head::RequestTimesSource* times = nullptr);
  void EndAnswer();
  // Ends the protocol, for the peer's fault or this node's.
  void Goodbye(const absl::Status& why);
  void End();

  const SessionLimits& limits_;
  Node* const node_;
  const std::unique_ptr<SessionCarrier> carrier_;
  const Finder find_;
  HeldBytes held_;
  ConnectionAccess access_;
  PendingRequests pending_;
  ConnectionAnswers answers_;

  State state_ = State::kGreeting;
  struct {
    uint64_t id = 0;  // 0: reads only
    uint64_t epoch = 0;
  } session_;
  // Keys that this frame may still look up.
  size_t lookups_left_ = 0;
  absl::Time quiet_since_;  // the start of a silence (max_silence)
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_SESSION_CONNECTION_H_
