// Links and calls between processes: they take their time, are cut one way or
// both, stall and break.
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

#include "kamino/internal/v1/chain.pb.h"
#include "replica/chain_core.h"
#include "tests/simulation/world.h"

namespace kamino::simulation {

// One end of links: a node.
class LinkOwner : public Process {
 public:
  using Process::Process;
  using ChainMessage = kamino::internal::v1::ChainMessage;
  using LinkId = replica::LinkId;

  virtual LinkId OnAccepted() = 0;  // names the link on this side
  virtual void OnOpened(LinkId link) = 0;
  virtual void OnMessage(LinkId link, const ChainMessage& message) = 0;
  virtual void OnClosed(LinkId link) = 0;
};

class TimedNetwork {
 public:
  using ChainMessage = kamino::internal::v1::ChainMessage;
  using LinkId = replica::LinkId;

  explicit TimedNetwork(World* world);
  TimedNetwork(const TimedNetwork&) = delete;
  TimedNetwork& operator=(const TimedNetwork&) = delete;

  // --- What is wrong with it.

  // Nothing gets from one to the other, whatever is on its way.
  void Cut(const std::string& from, const std::string& to);
  void Heal(const std::string& from, const std::string& to);
  void HealAll();
  bool IsCut(const std::string& from, const std::string& to) const {
    return !cut_.empty() && cut_.count({from, to}) != 0;
  }
  // Every way takes up to that much longer.
  void SetSlow(absl::Duration most) { slow_ = most; }
  // Calls to and from these take up to that much longer, always.
  void SetFar(const std::vector<std::string>& names, absl::Duration most);
  // Breaks `percent` of the links; both ends hear of it.
  void BreakLinks(uint64_t percent);

  // One of so many chunks of a heap is damaged on its way, where no checksum of
  // a link would notice it; 0: none.
  void SetDamage(uint64_t one_in) { damage_one_in_ = one_in; }

  // --- Calls: each message for itself, lost when the way is cut or `to` is
  // down when it arrives. Then nobody hears of it.
  void Send(Process* from, Process* to, World::Event arrival);

  // --- Links.

  // Opens a link from `from`, which calls it `link`; answered by OnOpened or
  // OnClosed. `to` null: nobody has that address.
  void Open(LinkOwner* from, LinkId link, LinkOwner* to);
  void SendOn(LinkOwner* from, LinkId link, const ChainMessage& message);
  void Close(LinkOwner* from, LinkId link);
  // The process has ended.
  void Died(LinkOwner* owner);

  uint64_t messages() const { return messages_; }

 private:
  struct End {
    LinkOwner* owner = nullptr;
    LinkId id = 0;
    bool open = false;  // and wants to hear of what happens
    std::deque<ChainMessage> incoming;
    absl::Time last_arrival;  // of what is on its way here
    absl::Time stalled_since = absl::InfiniteFuture();
    int parked = 0;  // arrivals that wait for the one that stalls
  };
  struct Connection {
    uint64_t number = 0;
    bool broken = false;  // nothing arrives any more
    End ends[2];          // who opened it first
  };
  using Ref = std::shared_ptr<Connection>;

  absl::Duration Delay();
  absl::Duration CallDelay(const Process& from, const Process& to);
  void Damage(kamino::internal::v1::StateChunk* chunk);
  Ref Find(LinkOwner* owner, LinkId link, int* side);
  void Accept(const Ref& connection);
  void Arrive(const Ref& connection, int side);
  void Stall(const Ref& connection, int side);
  // Lets `count` messages arrive that have come already.
  void ArriveSoon(const Ref& connection, int side, size_t count);
  // One end hears, soon, that it is closed; if not, later.
  void Notify(const Ref& connection, int side, bool soon);
  void Break(const Ref& connection);

  World* const world_;
  Random random_;
  std::set<std::pair<std::string, std::string>> cut_;
  absl::Duration slow_;
  std::set<std::string> far_;
  absl::Duration distance_;
  uint64_t damage_one_in_ = 0;
  uint64_t next_number_ = 1;
  std::map<std::pair<const LinkOwner*, LinkId>, std::pair<Ref, int>> links_;
  // A copy by number, so that what goes over all links does so in an order
  // that does not hang on addresses.
  std::map<uint64_t, Ref> by_number_;
  uint64_t messages_ = 0;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_TIMED_NETWORK_H_
