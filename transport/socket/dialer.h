// Finds the addresses of a link's target and connects a socket to one after
// another until the link has a peer. Host names are looked up on another
// thread. When the lookup is late or fails, the addresses of the last good one
// may be used.
//
// The loop's thread only.
#ifndef KAMINO_TRANSPORT_SOCKET_DIALER_H_
#define KAMINO_TRANSPORT_SOCKET_DIALER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transport/loop/event_loop.h"
#include "transport/loop/loop_link.h"
#include "transport/loop/unique_fd.h"
#include "transport/socket/resolver.h"
#include "transport/socket/socket_address.h"

namespace kamino::transport {

// Where a link connects to.
struct SocketTarget {
  // Tried in this order. Empty if `host` must be looked up.
  std::vector<SocketAddress> addresses;
  std::string host;  // a name; "": no lookup
  uint16_t port = 0;
  std::shared_ptr<Resolver> resolver;
  // When the lookup of `host` is late or fails, the link connects to the
  // addresses of the last good one. Its user must then check the peer's
  // identity.
  bool last_good = false;
};

class Dialer {
 public:
  // Returns what keeps the dialer alive for a call; null: its link has ended or
  // ends. Called on the loop's thread.
  using Keep = std::function<std::shared_ptr<void>()>;
  // Called once, on the loop's thread: the target has addresses, or why not.
  using Found = std::function<void(const absl::Status&)>;

  // `peer`: for error texts. The context must outlive the dialer.
  Dialer(LinkContext* context, std::string peer, SocketTarget target);

  // Looks the target's addresses up if it has none. `found` may run before this
  // returns.
  void Find(Keep keep, Found found);
  // No callback after this. Must come before the destructor. Idempotent.
  void Stop();

  // After `found`: a socket that is connecting to the next address.
  // kUnavailable: there is none left; the text has the last failure.
  absl::StatusOr<UniqueFd> Next();
  // The last socket has failed.
  void OnFailed(absl::string_view why) { error_ = std::string(why); }

 private:
  void OnAnswer(const absl::StatusOr<Resolver::Addresses>& answer);
  void OnLate();
  // False when there is no such address.
  bool GoToLastGood(absl::string_view why);
  void AddCandidates(const Resolver::Addresses& addresses);
  void FoundSome();
  void Report(const absl::Status& status);

  LinkContext* const context_;
  const std::string peer_;
  const SocketTarget target_;
  Found found_;
  bool finding_ = false;  // it has no address to try yet
  EventLoop::Id late_ = 0;
  std::vector<SocketAddress> candidates_;
  size_t next_candidate_ = 0;
  std::string error_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SOCKET_DIALER_H_
