// Whom one listener admits: how many links there may be, how many that are not
// established, how many of those are of one host or of one identity, and how
// often one may come.
#ifndef KAMINO_TRANSPORT_LOOP_ACCEPT_GATE_H_
#define KAMINO_TRANSPORT_LOOP_ACCEPT_GATE_H_

#include <cstddef>
#include <list>
#include <optional>
#include <string>

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

  // Whether one more may come from `host`, "" where nothing tells hosts apart;
  // if so, it counts for how often one does. `now` never goes back, here and
  // below.
  std::optional<Refused> MayCome(const std::string& host, absl::Time now);
  // Who has to give way first; null: there is room.
  LoopLink* InTheWay() const;
  void Came(LoopLink* link, const std::string& host, absl::Time now);
  // Whether one that has come may be established; if so, it is from then on.
  std::optional<Refused> Open(LoopLink* link, const std::string& identity,
                              absl::Time now);
  // One that has come is gone.
  void Left(LoopLink* link, absl::Time now);

  size_t half_open() const { return waiting_.size(); }
  size_t all() const { return links_.size(); }
  size_t hosts() const { return hosts_.size(); }  // that it knows of

  // Counts, and logs unless too many were lately: `peer` is not taken. Not
  // `told`: nobody has said so in the log.
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
    // It counts as no stranger for so long after its last link.
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
  // Hosts that have no link, and of which nothing has to be known any more.
  void ForgetHosts(absl::Time now);
  void StopWaiting(const Come& come);

  const TransportOptions& options_;
  LogLimit refusals_;  // anybody can cause them
  absl::flat_hash_map<LoopLink*, Come> links_;
  absl::node_hash_map<std::string, Host> hosts_;
  absl::flat_hash_map<std::string, int> identities_;  // of those that are open
  std::list<Waiting> waiting_;                        // oldest first
  TokenBucket come_;                                  // of strangers
  size_t forget_at_ = 0;                              // with so many hosts
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_LOOP_ACCEPT_GATE_H_
