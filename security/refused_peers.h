// Logs refused peers at a limited rate, and counts all of them.
#ifndef KAMINO_SECURITY_REFUSED_PEERS_H_
#define KAMINO_SECURITY_REFUSED_PEERS_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/log_limit.h"

namespace kamino::security {

// Thread-safe.
class RefusedPeers {
 public:
  // Logs the refusal, at a limited rate, and counts it. `peer`: its address or
  // its name.
  void Tell(absl::string_view peer, const absl::Status& why);

  uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> count_{0};
  LogLimit lines_;
};

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_REFUSED_PEERS_H_
