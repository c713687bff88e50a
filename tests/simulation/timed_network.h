// Calls and links between processes: they take time, are cut one way or both,
// stall and break. Links are those of transport/link.h.
#ifndef KAMINO_TESTS_SIMULATION_TIMED_NETWORK_H_
#define KAMINO_TESTS_SIMULATION_TIMED_NETWORK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/timed_names.h"
#include "tests/simulation/world.h"
#include "transport/link.h"

namespace kamino::simulation {

// Outlives all transports, links and listeners it has made. Everything happens
// in events of the world.
class TimedNetwork {
 public:
  struct Options {
    // A message takes that long, and at times a spike longer.
    absl::Duration least_delay = absl::Microseconds(20);
    absl::Duration most_delay = absl::Microseconds(300);
    absl::Duration most_spike = absl::Milliseconds(30);
    uint64_t spike_one_in = 400;  // 0: never
    // Percent of the links closed by their other end, or ended with its
    // process, whose end hears of it at once. The others time out.
    uint64_t told_of_close_percent = 80;
    uint64_t told_of_death_percent = 70;
    // Percent of the links that end with their process and lose the bytes in
    // flight.
    uint64_t lost_at_death_percent = 30;
    // Bytes that may be in flight in each direction of a link; a single message
    // always may.
    size_t credits = size_t{16} << 20;
    // Calls that meet a cut arrive when it is healed, or up to that much later,
    // as connections resend unacknowledged data: their callers have long given
    // them up. Zero: they are lost.
    absl::Duration most_held;
    // A process's identity by its certificate, by its name. Null: all is in the
    // clear.
    std::function<std::string(const std::string& name)> identity_of = nullptr;
  };
  // Takes no time, and no fault occurs by itself. A process that dies loses all
  // messages in flight.
  static Options Instant();

  TimedNetwork(World* world, const Options& options);
  explicit TimedNetwork(World* world) : TimedNetwork(world, Options()) {}
  TimedNetwork(const TimedNetwork&) = delete;
  TimedNetwork& operator=(const TimedNetwork&) = delete;

  // --- Faults.

  // No message gets from one to the other, not even one in flight.
  void Cut(const std::string& from, const std::string& to);
  void Heal(const std::string& from, const std::string& to);
  void HealAll();
  bool IsCut(const std::string& from, const std::string& to) const {
    return !cut_.empty() && cut_.count({from, to}) != 0;
  }
  // The name server takes that long to answer; infinite: it does not. Zero, as
  // at first: links do no lookups.
  void SetNameServer(absl::Duration takes) { name_server_.takes = takes; }
  // Every message takes up to that much longer.
  void SetSlow(absl::Duration most) { slow_ = most; }
  // Calls to and from these take up to that much longer, always.
  void SetFar(const std::vector<std::string>& names, absl::Duration most);
  // Links of transports called `kind` to and from this process are never
  // established.
  void Forbid(const std::string& kind, const std::string& name) {
    forbidden_.insert({kind, name});
  }
  // Breaks `percent` of the links; both ends hear of it.
  void BreakLinks(uint64_t percent);
  // Breaks all links between these two.
  void BreakBetween(const std::string& a, const std::string& b);

  // A message in flight.
  struct Passing {
    const std::string& from;
    const std::string& to;
    // The receiver's number of the link: 1, 3, 5... for those it opened with
    // this transport, 2, 4, 6... for those it accepted.
    uint64_t link;
    std::string* bytes;
  };
  // Sees each message as it is sent, and may change it; false loses it, against
  // the guarantee of links. Null: none.
  using Filter = std::function<bool(const Passing& passing)>;
  void SetFilter(Filter filter) { filter_ = std::move(filter); }
  // Sees each message as it was sent, before the filter.
  using Tap = std::function<void(const Passing& passing)>;
  void SetTap(Tap tap) { tap_ = std::move(tap); }

  // --- Calls: each message by itself, lost when the way is cut or `to` is down
  // when it arrives. The sender does not hear of that.
  void Send(Process* from, Process* to, World::Event arrival);

  // --- Links.

  // Those of `kind` as `owner` has them. Addresses are any strings, one name
  // space for each kind.
  transport::TransportFactory Transports(Process* owner,
                                         const transport::Capabilities& kind);
  // The process has ended: nothing that it does with its transports has an
  // effect any more, and it hears nothing.
  void Died(Process* owner);

 private:
  friend class TimedLink;
  friend class TimedListener;
  friend class TimedTransport;

  // The common state of the links of one transport.
  struct Station {
    Process* owner = nullptr;
    transport::Capabilities kind;  // max_message is of its links
    std::function<uint64_t()> era;
    std::function<absl::Status(const std::string& identity)> admit;
    std::shared_ptr<TimedNames> names;
    bool gone = false;  // destroyed, or its process has ended
    uint64_t opened = 0;
    uint64_t accepted = 0;
  };
  struct End {
    std::shared_ptr<Station> station;  // null: not known yet
    // Until it was told that the link is closed.
    std::shared_ptr<transport::LinkHandler> handler;
    std::shared_ptr<transport::Link> link;  // likewise
    uint64_t number = 0;                    // the station's
    bool open = false;                      // may send and be sent to
    bool cancelled = false;                 // closed by this side
    bool blocked = false;                   // is owed OnWritable
    std::deque<std::string> incoming;
    size_t incoming_bytes = 0;
    absl::Time last_arrival;  // of what is on its way here
    absl::Time stalled_since = absl::InfiniteFuture();
    int parked = 0;  // arrivals that wait for the one that stalls
  };
  struct Connection {
    uint64_t number = 0;
    std::string address;
    uint64_t era = 0;      // the opener's
    bool refused = false;  // never was one
    bool broken = false;   // nothing arrives any more
    End ends[2];           // the opener is first
  };
  using Ref = std::shared_ptr<Connection>;
  struct Port {
    uint64_t id = 0;
    std::shared_ptr<Station> station;
    transport::AcceptCallback acceptor;
  };
  using PortName = std::pair<std::string, std::string>;  // kind, address

  // "": in the clear.
  std::string IdentityOf(const Station& station) const;
  absl::Duration Delay();
  void Hold(Process* from, Process* to, World::Event arrival);
  // Sends the held calls that meet no cut any more.
  void SendHeld();
  absl::Duration CallDelay(const Process& from, const Process& to);
  bool IsCutBetween(const Process& a, const Process& b) const;

  // 0: the address is taken.
  uint64_t Listen(const std::shared_ptr<Station>& station,
                  const std::string& address,
                  transport::AcceptCallback acceptor);
  void StopListening(const std::string& kind, const std::string& address,
                     uint64_t id);
  std::shared_ptr<transport::Link> Connect(
      const std::shared_ptr<Station>& station, const std::string& address,
      std::shared_ptr<transport::LinkHandler> handler);
  absl::Status SendOn(const Ref& connection, int side, std::string bytes);
  void Close(const Ref& connection, int side);
  // Ends everything of the transport. If `told`, its ends hear of that.
  void Leave(const std::shared_ptr<Station>& station, bool told);

  void Knock(const Ref& connection);
  void Accept(const Ref& connection, uint64_t port_id);
  void Refuse(const Ref& connection, bool soon);
  void Arrive(const Ref& connection, int side);
  void Take(const Ref& connection, int side);
  void Credit(const Ref& connection, int side);
  void Stall(const Ref& connection, int side);
  // Delivers `count` messages that have arrived already.
  void ArriveSoon(const Ref& connection, int side, size_t count);
  // One end hears, soon, that it is closed; if not, later.
  void Notify(const Ref& connection, int side, bool soon);
  void Break(const Ref& connection);
  void Finish(const Ref& connection, int side);

  World* const world_;
  const Options options_;
  Random random_;
  NameServer name_server_;
  std::set<std::pair<std::string, std::string>> cut_;
  absl::Duration slow_;
  struct Held {
    Process* from;
    Process* to;
    uint64_t from_life;
    uint64_t to_life;
    World::Event arrival;
  };
  std::deque<Held> held_;  // calls
  std::set<std::string> far_;
  absl::Duration distance_;
  std::set<std::pair<std::string, std::string>> forbidden_;
  Filter filter_;
  Tap tap_;
  uint64_t next_number_ = 1;
  std::map<PortName, Port> ports_;
  std::vector<std::shared_ptr<Station>> stations_;
  // Connections with an end that is to be notified, in an order that does not
  // depend on addresses.
  std::map<uint64_t, Ref> connections_;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_TIMED_NETWORK_H_
