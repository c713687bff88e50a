#include "node/driver/request_limit.h"

#include <utility>

#include "replica/errors.h"

namespace kamino::node {

bool RequestLimit::Admit(head::Request* request) {
  const int64_t bytes =
      static_cast<int64_t>(request->mutation.arguments.size());
  const bool full = requests_.fetch_add(1) >= max_requests_;
  const bool heavy = bytes_.fetch_add(bytes) + bytes > max_bytes_;
  request->done = [this, bytes, done = std::move(request->done)](
                      head::RequestOutcome outcome) mutable {
    requests_.fetch_sub(1);
    bytes_.fetch_sub(bytes);
    done(std::move(outcome));
  };
  if (!full && !heavy) return true;
  head::RequestOutcome refusal;
  refusal.status = replica::MakeError(kamino::v1::REASON_OVERLOADED,
                                      "too many requests wait at this node");
  request->done(std::move(refusal));
  return false;
}

}  // namespace kamino::node
