// Nodes of the chain protocol in one process, and the messages in flight
// between them. Nothing happens by itself.
#ifndef KAMINO_TESTS_REPLICA_TRANSCRIPT_NETWORK_H_
#define KAMINO_TESTS_REPLICA_TRANSCRIPT_NETWORK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "engine/pmem/sim_region.h"
#include "membership/view.h"
#include "replica/core/chain_core.h"
#include "replica/log/log_ring.h"
#include "replica/log/node_record.h"
#include "tests/replica/fake_heap.h"

namespace kamino::replica {

// Executes like FakeHeap, until the power fails in the middle.
class TearingExecutor;

class TranscriptNetwork {
 public:
  using Message = kamino::internal::v1::ChainMessage;

  // A line of output; `loud`: of interest only where every step is.
  using Print = std::function<void(const std::string& line, bool loud)>;
  explicit TranscriptNetwork(Print print);
  ~TranscriptNetwork();

  void AddNode(const std::string& name);
  bool Exists(const std::string& name) const { return nodes_.count(name) > 0; }
  bool IsUp(const std::string& name) const;
  std::vector<std::string> Names() const;

  // Those named learn of the view if they are up. Members enter it with the
  // incarnation that they have, even if they are down, when the view is first
  // told.
  void InstallView(uint64_t id, const std::vector<std::string>& members,
                   const std::vector<std::string>& to);
  void Submit(const std::string& head, const std::string& operation,
              bool commit);
  void Invite(const std::string& name, bool invited);

  // Delivers, or drops, the first message in flight between these ("" is any
  // node). False: there is none.
  bool DeliverOne(const std::string& from, const std::string& to,
                  bool lost = false);
  size_t CountOnTheWay(const std::string& from, const std::string& to) const;
  void Forge(const std::string& from, const std::string& to, Message message,
             std::string payload = "");
  void Break(const std::string& a, const std::string& b);
  void Cut(const std::string& a, const std::string& b, bool cut);
  void Tick(absl::Duration time);

  void Kill(const std::string& name);
  void SaveCopy(const std::string& name);
  enum class Files { kOwn, kCopy, kNone };
  void Restart(const std::string& name, Files files);
  void TearNext(const std::string& name, size_t writes);
  void Diverge(const std::string& name);
  void LackProcedure(const std::string& name);
  void Falter(const std::string& name, size_t writes);
  void Rot(const std::string& name);
  void DamageNext(const std::string& name);
  // Changes an object of its heap: "a=7".
  void Flip(const std::string& name, const std::string& write);
  // Nodes that start from now on compare a range every ten seconds, as head.
  void Scrub(bool on) { scrubs_ = on; }

  // "n1 head, sound: received 2, applied 2, cleaned 1; a=1".
  std::string TextOf(const std::string& name) const;
  std::vector<std::string> LinksOf(const std::string& name) const;

 private:
  struct Disk {
    engine::SimRegion::Image ring;
    engine::SimRegion::Image scrub_record;
    FakeHeap::Objects objects;
    bool diverges = false;
  };
  struct Node;
  using End = std::pair<std::string, LinkId>;
  struct Flight {
    End from;
    End to;
    Message message;
    std::string payload;
  };

  Node& At(const std::string& name) { return *nodes_.at(name); }
  const Node& At(const std::string& name) const { return *nodes_.at(name); }
  void Start(Node* node, const Disk* disk);
  // Gives the node an input, carries out its actions, and prints how the node
  // has changed.
  using Input = std::function<void(ChainCore& core, Actions* actions)>;
  void Give(const std::string& name, const Input& input);
  void CarryOut(const std::string& name, Actions actions);
  void Connect(const std::string& name, const Actions::Open& open);
  void BreakEnd(const End& end);
  void Stop(Node* node);
  std::string StandingOf(const Node& node) const;

  const Print print_;
  bool scrubs_ = false;
  absl::Time now_ = absl::UnixEpoch();
  std::map<std::string, std::unique_ptr<Node>> nodes_;
  std::map<End, End> peers_;
  std::deque<Flight> flights_;
  std::map<uint64_t, membership::View> views_;  // told so far
  std::set<std::pair<std::string, std::string>> cut_;
};

}  // namespace kamino::replica

#endif  // KAMINO_TESTS_REPLICA_TRANSCRIPT_NETWORK_H_
