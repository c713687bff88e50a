// Admission of incoming links at one listener: limits on links, on links that
// are not established, on links of one host or identity, and on the rate.
#ifndef KAMINO_TRANSPORT_LOOP_ACCEPT_GATE_H_
#define KAMINO_TRANSPORT_LOOP_ACCEPT_GATE_H_

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/log_limit.h"
#include "transport/link.h"
#include "transport/loop/token_bucket.h"

namespace kamino::transport {

class LoopLink;

// Shared with the links that it has accepted. The loop's thread only.
class AcceptGate {
 public:
  // `options` outlive it.
  AcceptGate(const TransportOptions& options, AcceptCallback acceptor)
      : acceptor(std::move(acceptor)), options_(options) {}

  struct Refused {
    LinkRefusal why;
    absl::Status status;
  };

  // Whether one more link may come from `host` ("" if nothing tells hosts
  // apart); if so, it counts for the rate. `now` never goes back, here and
  // below.
  std::optional<Refused> MayCome(const std::string& host, absl::Time now);
  // The link that must give way first; null: there is room.
  LoopLink* InTheWay() const;
  void Came(LoopLink* link, const std::string& host, absl::Time now);
  // Whether an incoming link may be established; if so, it counts as
  // established.
  std::optional<Refused> Open(LoopLink* link, const std::string& identity,
                              absl::Time now);
  // An incoming link is gone.
  void Left(LoopLink* link, absl::Time now);

  // Incoming links that are not established, the oldest first.
  std::vector<LoopLink*> WaitingLinks() const;

  size_t half_open() const { return waiting_.size(); }
  size_t all() const { return links_.size(); }
  size_t hosts() const { return hosts_.size(); }  // known hosts

  // The count for an incoming link that closes for `why` before it is
  // established.
  static LinkRefusal RefusalOf(const absl::Status& why);
  // Counts a refusal of `peer`, and logs it unless there were too many lately.
  // `told`: the log already has it.
  void TellRefusal(absl::string_view peer, LinkRefusal why,
                   absl::string_view text, bool told = false);

  const AcceptCallback acceptor;
  std::string address;
  bool open = true;

 private:
  struct Host {
    int half_open = 0;
    int open = 0;
    TokenBucket come;
    // Until then, after its last link, the host does not count as a stranger.
    absl::Time known_until = absl::InfinitePast();

    bool idle() const { return half_open == 0 && open == 0; }
  };
  struct Waiting {
    LoopLink* link;
    Host* host;
  };
  struct Come {
    std::string host;
    std::string identity;
    absl::Time at;
    bool open = false;
    std::list<Waiting>::iterator waiting;  // unless open
  };
  std::optional<Refused> TooMany(const std::string& host) const;
  std::optional<Refused> TooOften(const std::string& host, absl::Time now);
  // Forgets hosts without links that need not be remembered any more.
  void ForgetHosts(absl::Time now);
  void StopWaiting(const Come& come);

  const TransportOptions& options_;
  LogLimit refusals_;  // any peer can cause them
  absl::flat_hash_map<LoopLink*, Come> links_;
  absl::node_hash_map<std::string, Host> hosts_;
  absl::flat_hash_map<std::string, int> identities_;  // of established links
  std::list<Waiting> waiting_;                        // oldest first
  TokenBucket come_;                                  // for strangers
  size_t forget_at_ = 0;                              // at so many hosts
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_LOOP_ACCEPT_GATE_H_
