// The end of a link that uses a pair without rings; a SendHub calls it.
//
// Threads: the loop's thread makes all calls, and the hub holds Keep()'s result
// meanwhile. The hub does not own users.
#ifndef KAMINO_TRANSPORT_VERBS_SEND_USER_H_
#define KAMINO_TRANSPORT_VERBS_SEND_USER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/types/span.h"

namespace kamino::transport {

class SendUser {
 public:
  virtual ~SendUser() = default;
  // Keeps the user alive as long as the result lives.
  virtual std::shared_ptr<void> Keep() = 0;
  // The peer's bytes, valid until it returns.
  virtual void OnReceived(absl::Span<const std::byte> bytes) = 0;
  virtual void OnSent(uint64_t id) = 0;
  virtual void OnPairFailed(const char* why) = 0;
  // Ends a batch of these; the buffers of received bytes are posted again.
  virtual void OnBatchEnd() = 0;
  // Unfinished messages use too much memory, and this user has the oldest.
  virtual void OnTooMuchUnfinished() = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_SEND_USER_H_
