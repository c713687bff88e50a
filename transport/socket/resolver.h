// Resolves host names to addresses without blocking the calling thread.
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

  // A lookup that takes longer is late: a caller that may use the last good
  // answer uses it then.
  static constexpr absl::Duration kLate = absl::Milliseconds(200);

  // With port 0 each. Not empty if the lookup has succeeded.
  using Addresses = std::vector<SocketAddress>;
  // Must not block, and must be safe to call after the resolver is destroyed.
  using Answer = std::function<void(const absl::StatusOr<Addresses>&)>;

  // Starts a lookup of the name `host`, and returns at once. Calls `answer` at
  // most once, on any thread, possibly before it returns; never after
  // `deadline` (of MonotonicNow). kUnavailable: the name server does not
  // answer, or does not know the name. kResourceExhausted: too many lookups
  // wait.
  virtual void LookUp(const std::string& host, absl::Time deadline,
                      Answer answer) = 0;

  // The addresses from the last successful lookup of `host`; empty: none has
  // succeeded. They may belong to another host by now.
  virtual Addresses LastGood(const std::string& host) const = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SOCKET_RESOLVER_H_
