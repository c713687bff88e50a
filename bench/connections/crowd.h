// The crowd whose cost is measured: many clients of a node, which open
// connections or sessions, keep them for a while and close them.
#ifndef KAMINO_BENCH_CONNECTIONS_CROWD_H_
#define KAMINO_BENCH_CONNECTIONS_CROWD_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "bench/connections/dialer.h"

namespace kamino::bench::connections {

// Not thread-safe.
class Crowd {
 public:
  virtual ~Crowd() = default;

  // Opens the planned number, or as many as the node accepts; `refused`
  // receives the node's reason. An error: something other than a refusal
  // failed.
  virtual absl::Status Open(absl::Status* refused) = 0;
  // The number of open ones.
  virtual size_t size() const = 0;
  // Checks that each still works and closes it. `lost` receives the number
  // that did not.
  virtual absl::Status Close(size_t* lost) = 0;
};

// Connections without a session, which say hello and nothing more until they
// are closed. `dialer` outlives it.
std::unique_ptr<Crowd> IdleConnections(size_t count, Dialer* dialer);

struct SessionsPlan {
  size_t sessions = 0;
  size_t connections = 0;  // at a time
  uint32_t window = 0;
};

// Sessions with a lease of an hour and one mutation each. A connection has one
// session; so as many connections as there may be are opened at a time, and
// closed for the next, but for the last ones. They are closed in the same way.
// `dialer` outlives it and leads to the head.
std::unique_ptr<Crowd> Sessions(const SessionsPlan& plan, Dialer* dialer);

}  // namespace kamino::bench::connections

#endif  // KAMINO_BENCH_CONNECTIONS_CROWD_H_
