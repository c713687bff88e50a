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
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "head/request.h"
#include "head/session_table.h"
#include "kamino/v1/session.pb.h"
#include "node/driver/node.h"
#include "node/session/session_carrier.h"
#include "proto/session_frame.h"
#include "security/access.h"

namespace kamino::node {

struct SessionLimits {
  size_t max_requests = 4096;           // under way, of one connection
  size_t max_request_bytes = 16 << 20;  // their bodies
  // Answers; above it requests are shed, and above twice that the connection
  // ends.
  size_t max_unsent_bytes = 16 << 20;
  // Answers of all connections, and their incomplete frames. Above it, requests
  // of the connections that hold some are shed, and at a tick connections end.
  size_t max_all_held_bytes = 256 << 20;
  // Ends a connection that for so long does not greet, does not receive its
  // answers, or does not complete a frame.
  absl::Duration max_silence = absl::Seconds(5);
  // Bytes of a frame; a peer that sends less in max_silence is too slow.
  size_t least_of_frame = 64 << 10;
  // Keys that the reads of one frame may look up: some tens of milliseconds.
  size_t max_lookups = 65536;
};

class SessionConnection {
 public:
  // Finds this connection for an answer, if it still exists: requests outlive
  // connections.
  using Finder = std::function<SessionConnection*()>;

  // `node` and `access` outlive this. `all_held` counts the bytes of all
  // connections. `access`: the peer's rights; null: everything.
  SessionConnection(const SessionLimits& limits, Node* node,
                    security::Access* access,
                    std::unique_ptr<SessionCarrier> carrier, Finder find,
                    size_t* all_held, absl::Time now);
  ~SessionConnection();

  void OnFrame(absl::string_view bytes, absl::Time now);
  void OnTick(absl::Time now);
  // The carrier's peer has received something.
  void OnWritable();

  // Sends the collected answers.
  void Flush();
  bool has_answers() const { return !out_.empty(); }

  // The protocol has ended, and the carrier knows.
  bool ended() const { return state_ == State::kEnded; }

  // Unsent answers, and bytes of an incomplete frame.
  size_t held_bytes() const { return unsent_ + unfinished_; }
  // The time to send them at the recent rate, for comparison.
  double held_for() const;
  // Ends without a message.
  void Abort(absl::string_view why);

 private:
  enum class State { kGreeting, kOpening, kOpen, kEnded };
  static constexpr int kNoKeys = -1;
  struct Pending {
    size_t bytes = 0;
    session::Method method = {};
    absl::Time began;
    uint64_t number = 0;                       // of a mutation
    int keys = kNoKeys;                        // number of keys that it names
    std::unique_ptr<const std::string> trace;  // null: none
    // Shared with the request, which reads it often.
    std::shared_ptr<bool> cancelled = std::make_shared<bool>(false);
  };

  // Checks that the peer may send such a frame now.
  absl::Status CheckFrame(session::FrameKind kind);
  absl::Status CheckMayHaveSession();
  absl::Status CheckMethod(session::Method method);
  // The peer's identity; null: everything is allowed.
  PrincipalPtr peer() const {
    return grant_ == nullptr ? nullptr : grant_->principal;
  }
  // Notes a request that was refused for a key or a session.
  void NoteDenied(const absl::Status& status, const Pending* asked = nullptr);
  // Null: it is answered.
  const Pending* FindPending(uint32_t tag) const;
  // Keeps the trace for the next request, if that has its tag.
  void TakeTrace(const session::Request& trace);
  // The name by which clients and logs know it; "": not a mutation.
  std::string RequestNameOf(uint64_t number) const;
  void OnHello(absl::string_view body, absl::Time now);
  void OpenSession(const kamino::v1::SessionName& asked_for, absl::Time now);
  void OnOpened(absl::StatusOr<head::SessionInfo> opened);
  void Welcome(const kamino::v1::SessionName* session);
  // Not OK: the connection ends with that.
  absl::Status OnRequest(const session::Request& request, absl::Time now);
  void Begin(const session::Request& request, absl::Time now);
  absl::Status CheckRoom(const session::Request& request);

  void Read(const session::Request& request);
  void Mutate(const session::Request& request, absl::Time now);
  void KeepAlive(uint32_t tag, absl::Time now);
  void CloseSession(uint32_t tag);

  // Not OK: there is no room for an answer of some size.
  absl::Status CheckRoomForAnswer();
  bool HasRoomForAnswer() const;
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
  // Counts the answers that leave now.
  void CountAnswered();
  struct Answered;
  // Notes what to count, and perhaps log, of it once its answer has left.
  void NoteAnswered(Pending* asked, absl::StatusCode code, size_t answer_bytes,
                    const head::RequestTimesSource* times);
  void TellSlow(const Answered& answered, absl::Time now);
  // Ends the protocol, for the peer's fault or this node's.
  void Goodbye(const absl::Status& why);
  void End();
  void Send(std::string frame);
  void CountUnsent();
  void CountUnfinished();
  bool FrameIsStuck(absl::Time now);
  // As google.rpc.Status, with details for clients.
  std::string Explain(const absl::Status& status,
                      const std::string& request = "") const;

  const SessionLimits limits_;
  Node* const node_;
  security::Access* const access_;
  const std::unique_ptr<SessionCarrier> carrier_;
  const Finder find_;
  size_t* const all_held_;

  // The generation of grants that was checked.
  uint64_t generation_ = 0;
  security::GrantPtr grant_;
  // Keys that this frame may still look up.
  size_t lookups_left_ = 0;
  State state_ = State::kGreeting;
  uint64_t session_id_ = 0;  // 0: reads only
  uint64_t session_epoch_ = 0;
  absl::flat_hash_map<uint32_t, Pending> pending_;  // by tag
  size_t pending_bytes_ = 0;
  session::FrameWriter out_{session::FrameKind::kResponses};
  struct Answered {
    session::Method method;
    absl::StatusCode code;
    absl::Time began;
    uint64_t number;
    int keys;
    uint32_t request_bytes;
    uint32_t answer_bytes;
    int detail;  // its index in details_; -1: none

    bool CountsAs(const Answered& other) const {
      return method == other.method && code == other.code &&
             began == other.began;
    }
  };
  std::vector<Answered> answered_;  // in out_
  // For answers with a trace, or that may become slow.
  struct Detail {
    std::unique_ptr<const std::string> trace;
    std::optional<head::RequestTimes> times;
  };
  std::vector<Detail> details_;
  // The trace of the next request.
  uint32_t trace_tag_ = 0;
  std::string trace_;
  size_t unsent_ = 0;       // as counted last
  size_t unfinished_ = 0;   // likewise
  bool took_some_ = false;  // the peer, since the last tick
  absl::Time quiet_since_;  // the start of a silence (max_silence)
  // For the incomplete frame: its size at that time, when the time for the next
  // piece began.
  size_t frame_had_ = 0;
  absl::Time frame_since_;
  // Bytes in both directions, in this second and in the one before.
  size_t moved_ = 0;
  size_t moved_before_ = 0;
  absl::Time moved_since_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_SESSION_CONNECTION_H_
