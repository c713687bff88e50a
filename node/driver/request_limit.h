// Bounds the mutations that wait for a node's core thread or are on their way.
#ifndef KAMINO_NODE_DRIVER_REQUEST_LIMIT_H_
#define KAMINO_NODE_DRIVER_REQUEST_LIMIT_H_

#include <atomic>
#include <cstdint>

#include "head/request.h"

namespace kamino::node {

// Thread-safe. Outlives the requests that it has admitted.
class RequestLimit {
 public:
  // The limits of NodeOptions.
  RequestLimit(int64_t max_requests, int64_t max_bytes)
      : max_requests_(max_requests), max_bytes_(max_bytes) {}

  // Counts the request until it is answered. False: it was refused with
  // REASON_OVERLOADED.
  bool Admit(head::Request* request);

 private:
  const int64_t max_requests_;
  const int64_t max_bytes_;
  std::atomic<int64_t> requests_{0};
  std::atomic<int64_t> bytes_{0};  // of arguments
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_REQUEST_LIMIT_H_
