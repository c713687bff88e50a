// The requests whose answers leave together: counts how long they took, and
// logs the slow ones.
//
// Not thread-safe: the core thread owns it.
#ifndef KAMINO_NODE_SESSION_ANSWERED_REQUESTS_H_
#define KAMINO_NODE_SESSION_ANSWERED_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "head/request.h"
#include "node/driver/node.h"
#include "node/session/connection_access.h"
#include "node/session/pending_requests.h"
#include "node/session/session_carrier.h"

namespace kamino::node {

class AnsweredRequests {
 public:
  // All outlive this.
  AnsweredRequests(Node* node, const SessionCarrier* carrier,
                   const ConnectionAccess* access)
      : node_(node), carrier_(carrier), access_(access) {}

  // `times`: of a mutation, if slow ones are reported; valid during the call.
  void Add(PendingRequest asked, absl::StatusCode code, size_t answer_bytes,
           const head::RequestTimesSource* times);
  // Their answers leave now; the connection has that session.
  void Count(uint64_t session);
  bool empty() const { return answered_.empty(); }

 private:
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
  // For answers with a trace, or that may become slow.
  struct Detail {
    std::unique_ptr<const std::string> trace;
    std::optional<head::RequestTimes> times;
  };

  void LogSlow(const Answered& answered, uint64_t session, absl::Time now);

  Node* const node_;
  const SessionCarrier* const carrier_;
  const ConnectionAccess* const access_;
  std::vector<Answered> answered_;
  std::vector<Detail> details_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_ANSWERED_REQUESTS_H_
