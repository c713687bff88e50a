// The requests of one connection that have no answer yet.
//
// Not thread-safe: the core thread owns it.
#ifndef KAMINO_NODE_SESSION_PENDING_REQUESTS_H_
#define KAMINO_NODE_SESSION_PENDING_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "node/session/session_limits.h"
#include "proto/session_frame.h"

namespace kamino::node {

inline constexpr int kNoKeys = -1;

struct PendingRequest {
  size_t bytes = 0;
  session::Method method = {};
  absl::Time began;
  uint64_t number = 0;                       // of a mutation
  int keys = kNoKeys;                        // number of keys that it names
  std::unique_ptr<const std::string> trace;  // null: none
  // Shared with the request, which reads it often.
  std::shared_ptr<bool> cancelled = std::make_shared<bool>(false);
};

// The name by which clients and logs know a session's mutation; "": not one.
std::string RequestName(uint64_t session, uint64_t number);

class PendingRequests {
 public:
  explicit PendingRequests(const SessionLimits* limits) : limits_(limits) {}

  // Whether one more request with a body of `bytes` is within the limits.
  bool HasRoom(size_t bytes) const {
    return by_tag_.size() < limits_->max_requests &&
           bytes_ + bytes <= limits_->max_request_bytes;
  }
  PendingRequest& Add(const session::Request& request, absl::Time now);
  // Null: it has its answer. Valid until the next Add or Take.
  PendingRequest* Find(uint32_t tag);
  // The name of a request without an answer, for clients and logs, on a
  // connection with that session.
  std::string NameOf(uint32_t tag, uint64_t session);
  // Removes it; nullopt: it has its answer.
  std::optional<PendingRequest> Take(uint32_t tag);
  // The client waits no more; does nothing if it has its answer.
  void Cancel(uint32_t tag);

  // Keeps the trace for the next request, if that has its tag.
  void KeepTrace(const session::Request& trace);

 private:
  const SessionLimits* const limits_;
  absl::flat_hash_map<uint32_t, PendingRequest> by_tag_;
  size_t bytes_ = 0;
  // The trace of the next request.
  uint32_t trace_tag_ = 0;
  std::string trace_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_PENDING_REQUESTS_H_
