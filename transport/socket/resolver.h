// Finds the addresses of host names without holding up the thread that asks.
#ifndef KAMINO_TRANSPORT_SOCKET_RESOLVER_H_
#define KAMINO_TRANSPORT_SOCKET_RESOLVER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "transport/socket/socket_address.h"

namespace kamino::transport {

// Thread-safe.
class Resolver {
 public:
  virtual ~Resolver() = default;

  // A lookup that takes longer is late: whoever may use the last good answer
  // does so then.
  static constexpr absl::Duration kLate = absl::Milliseconds(200);

  // All have port 0. Not empty, where a lookup has succeeded.
  using Addresses = std::vector<SocketAddress>;
  // Must not block, and must be safe to call after the resolver is destroyed.
  using Answer = std::function<void(const absl::StatusOr<Addresses>&)>;

  // Looks `host`, a name, up, and returns at once. Calls `answer` at most once,
  // on any thread, possibly before it returns; never once `deadline` (of
  // MonotonicNow) has passed. kUnavailable: the name server does not answer, or
  // does not know the name. kResourceExhausted: too many lookups wait.
  virtual void LookUp(const std::string& host, absl::Time deadline,
                      Answer answer) = 0;

  // What the last lookup of `host` that succeeded found; empty: none has. The
  // addresses may be another host's by now.
  virtual Addresses LastGood(const std::string& host) const = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SOCKET_RESOLVER_H_
