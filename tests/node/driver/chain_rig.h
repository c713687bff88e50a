// A few nodes of one chain on simulated disks, with simulated links that take
// no time, views made by hand, and power cuts at chosen moments: for tests that
// force one case of a recovery. tests/simulation/ leaves such cases to chance.
#ifndef KAMINO_TESTS_NODE_DRIVER_CHAIN_RIG_H_
#define KAMINO_TESTS_NODE_DRIVER_CHAIN_RIG_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/chain_mode.h"
#include "kamino/v1/kamino.pb.h"
#include "node/driver/node.h"
#include "node/storage/storage.h"
#include "tests/node/driver/fixed_views.h"
#include "tests/node/driver/manual_executor.h"
#include "tests/node/storage/sim_media.h"
#include "tests/simulation/timed_network.h"
#include "tests/simulation/world.h"
#include "transport/link.h"

namespace kamino::node {

// The effect of a power cut in the middle of an operation.
struct Tear {
  bool happened = false;
  // Words of the heap's object area that were at risk; a heap is torn when some
  // are as after the operation and some as before.
  size_t kept_words = 0;
  size_t lost_words = 0;
  // Positions of the node's ring then.
  uint64_t received = 0;
  uint64_t applied = 0;
  // Counts of the entries it had not applied: their intents, and the intents
  // whose bytes had changed when the power went.
  size_t intents = 0;
  size_t touched = 0;

  bool torn() const { return kept_words > 0 && lost_words > 0; }
};

inline constexpr char kStranger[] = "stranger";  // a process that is no node

struct SilentStranger final : transport::LinkHandler {
  void OnMessage(absl::Span<const std::byte>) override {}
  void OnClosed(const absl::Status&) override { closed = true; }

  bool closed = false;
};

// A stranger that sends messages, and records what it receives.
struct TalkingStranger final : transport::LinkHandler {
  void OnConnected(const std::shared_ptr<transport::Link>& to) override {
    link = to;
  }
  void OnMessage(absl::Span<const std::byte> message) override;
  void OnClosed(const absl::Status&) override { closed = true; }
  void Say(const kamino::internal::v1::ChainMessage& message,
           absl::string_view payload = "") const;

  std::shared_ptr<transport::Link> link;  // null: it is not established
  std::vector<kamino::internal::v1::ChainMessage> heard;
  bool closed = false;
};

// A request and what came of it.
struct Issued {
  replica::Mutation request;
  std::vector<kamino::v1::Operation> operations;
  PrincipalPtr by;
  int answers = 0;
  head::RequestOutcome outcome;  // the last one

  bool acknowledged() const { return answers > 0 && outcome.status.ok(); }
};

kamino::v1::Operation Put(const std::string& key, const std::string& value);
kamino::v1::Operation Patch(const std::string& key, uint64_t offset,
                            const std::string& data);
kamino::v1::Operation Delete(const std::string& key);

// Not thread-safe.
class ChainRig {
 public:
  using ChainMessage = kamino::internal::v1::ChainMessage;
  using LinkId = replica::LinkId;
  // May change a message as it is sent; false loses it.
  // The payload goes when the message becomes one that carries none.
  using Filter =
      std::function<bool(const std::string& from, const std::string& to,
                         ChainMessage*, std::string* payload)>;
  using Tap =
      std::function<void(const std::string& to, LinkId link,
                         const ChainMessage&, absl::string_view payload)>;
  // From here on nodes' media are files on disks (SimRegion::SyncPages).
  void SyncPages() {
    for (auto& [name, node] : nodes_) node->disk.SyncPages();
  }
  // Counts of a node's media, since they are files.
  uint64_t syncs(const std::string& name) {
    uint64_t syncs = 0;
    for (const Media::Part part :
         {Media::Part::kHeap, Media::Part::kRing, Media::Part::kUndoCopy}) {
      const engine::SimRegion* const region = At(name).disk.region(part);
      if (region != nullptr) syncs += region->syncs();
    }
    return syncs;
  }
  // A copy of a node's disk, as of a process that stands still.
  SimDisk::Images CopyDisk(const std::string& name) {
    return At(name).disk.Copy();
  }
  // Puts such a copy back; of a node that is down.
  void PutBack(const std::string& name, const SimDisk::Images& images) {
    At(name).disk.PutBack(images);
  }
  // Everything that opens a node again, elsewhere, as it was.
  struct Snapshot {
    StorageOptions storage;
    NodeOptions node;
    std::map<Media::Part, engine::SimRegion::Image> parts;
  };
  struct Options {
    std::vector<std::string> names = {"n1", "n2", "n3", "n4"};
    ChainMode mode = ChainMode::kKamino;
    uint64_t heap_bytes = 512 << 10;
    uint64_t ring_bytes = 128 << 10;
    std::map<std::string, uint64_t> ring_bytes_of = {};  // of some others
    UndoCopyKind undo_copy = UndoCopyKind::kSimple;
    uint64_t transfer_bytes_per_s = 0;  // without a limit
    uint64_t window_entries = replica::ChainOptions().window_entries;
    absl::Duration ack_delay = absl::ZeroDuration();
    int64_t max_pending_requests = NodeOptions().max_pending_requests;
    int64_t max_pending_bytes = NodeOptions().max_pending_bytes;
    size_t max_batch = head::AdmissionOptions().max_batch;
    size_t max_unpropagated = head::AdmissionOptions().max_unpropagated;
    // Probation of new heads. Without it, a head executes many requests at
    // once.
    absl::Duration probation = absl::ZeroDuration();
    // A node that must stop is not ended, to see what it would do.
    bool outlives_fatal = false;
    // Views put in force what all members can.
    bool agrees = false;
    // Nodes have certificates, and strangers that of this identity; "": all is
    // in the clear.
    std::string stranger = "";
  };

  explicit ChainRig(Options options);
  ChainRig() : ChainRig(Options()) {}
  ~ChainRig();
  ChainRig(const ChainRig&) = delete;
  ChainRig& operator=(const ChainRig&) = delete;

  // --- Life and death. All nodes are down at first.

  // It learns of the last view; one that was away is not in it.
  void Start(const std::string& name);
  void StartAll();
  bool up(const std::string& name) const { return At(name).up(); }
  // The power goes, now. Its links break.
  void CutPower(const std::string& name, uint64_t seed);
  // The power goes at the `count`-th flush or drain of its heap from now on
  // that belongs to an operation which it executes or repairs. What that leaves
  // of the heap is torn if it can be.
  enum class Moment { kFlush, kDrain };
  void CutPowerAt(const std::string& name, Moment moment, int count);
  void Disarm(const std::string& name) { At(name).countdown = 0; }
  const Tear& tear(const std::string& name) const { return At(name).tear; }
  // It ends in order soon: `done` as PlannedStop::Retire says.
  void Retire(const std::string& name, std::function<void()> done) {
    At(name).node->planned_stop().Retire(std::move(done));
  }
  // Why a node stopped by itself; it is down then.
  const absl::Status& fatal(const std::string& name) const {
    return At(name).fatal;
  }

  // --- Views and links.

  // Every node that is up learns of the next view, with these members as they
  // run now; those that are down keep the place they had.
  void InstallView(const std::vector<std::string>& members);
  // The same, but each of them only once it is told.
  void StoreView(const std::vector<std::string>& members);
  void Tell(const std::string& name);
  void SetLease(const std::string& name, bool valid) { At(name).lease = valid; }
  void Invite(const std::string& name, bool invited = true);
  void BreakLinks(const std::string& a, const std::string& b) {
    network_.BreakBetween(a, b);
  }
  void SetFilter(Filter filter) { filter_ = std::move(filter); }
  // The next message from `from` to `to` that is `due` passes through `change`;
  // changed() tells whether it has come.
  void ChangeNext(const std::string& from, const std::string& to,
                  const std::function<bool(const ChainMessage&)>& due,
                  const std::function<void(ChainMessage*)>& change);
  // The same of the next log entry.
  void ChangeNextEntry(const std::string& from, const std::string& to,
                       const std::function<void(std::string* entry)>& change);
  bool changed() const { return changed_; }
  // Told of every message as it is sent, with the receiver's number of the
  // link.
  void SetTap(Tap tap) { tap_ = std::move(tap); }
  // Messages to this node wait; its links stay.
  void Hold(const std::string& name, bool held = true) { At(name).held = held; }

  // A link to a node's listener, over which nothing is ever said.
  std::shared_ptr<const SilentStranger> Connect(const std::string& to);
  // The same, to be spoken over.
  std::shared_ptr<TalkingStranger> Talk(const std::string& to);

  // --- Time.

  // Handles one input of the next node that has one, as a batch of its own;
  // false when there is none.
  bool Step();
  // The same of the node that `choice` falls on.
  bool Step(uint64_t choice);
  // Steps until nothing happens any more, for `rounds` ticks.
  void Settle(int rounds = 20);
  void Tick();
  absl::Time now() const { return world_.now(); }

  // --- Clients. Each has one request under way at most.

  std::shared_ptr<Issued> Submit(
      uint64_t client, const std::vector<kamino::v1::Operation>& operations);
  // A put of each of `clients`, which come in one batch.
  std::vector<std::shared_ptr<Issued>> PutTogether(
      const std::vector<uint64_t>& clients);
  // The same request again, at the present head.
  void Retry(const std::shared_ptr<Issued>& issued);

  // --- What is.

  ChainNode& node(const std::string& name) {
    return At(name).node->chain_node();
  }
  Storage& storage(const std::string& name) { return *At(name).storage; }
  const replica::LogRing& ring(const std::string& name) {
    return *At(name).storage->ring();
  }
  // The contents of its next heartbeat.
  const membership::NodeReport& report(const std::string& name) const {
    return At(name).report;
  }
  const std::vector<std::string>& names() const { return order_; }
  const std::string& head() const;
  const membership::View& view() const { return view_; }
  // Only of a node that is down.
  Snapshot TakeSnapshot(const std::string& name);

  using Contents = std::map<std::string, std::string>;
  // Reads all objects and clients past all roles.
  absl::StatusOr<Contents> ReadAll(const std::string& name) {
    return ReadAll(At(name).storage->heap());
  }
  absl::StatusOr<Contents> ReadAll(engine::Heap* heap);
  // By what was acknowledged.
  Contents Expected() const;
  // "" when the members of the view hold what was acknowledged, all the same,
  // and nothing is left under way; else what is wrong.
  std::string Difference();

 private:
  // A process, and its manager.
  struct RigNode final : public simulation::Process, public FixedViews {
    using Process::Begin;
    using Process::End;
    using Process::Process;

    // External events wait for their turn.
    void Deliver(std::function<void()> event) override {
      if (up()) inbox.push_back(std::move(event));
    }

    SimDisk disk;
    Storage* storage = nullptr;  // the node's
    ManualExecutor* executor = nullptr;
    std::unique_ptr<Node> node;
    std::deque<std::function<void()>> inbox;
    bool held = false;
    int countdown = 0;  // flushes or drains until it crashes; 0: none
    Moment moment = Moment::kDrain;
    Tear tear;
    absl::Status fatal;
  };

  struct Stranger final : simulation::Process {
    explicit Stranger(simulation::World* world) : Process(world, kStranger) {
      Begin();
    }
  };

  std::shared_ptr<Issued> Issue(
      uint64_t client, const std::vector<kamino::v1::Operation>& operations);
  static void Mutate(RigNode* to, const std::shared_ptr<Issued>& issued);
  RigNode& At(const std::string& name) { return *nodes_.at(name); }
  const RigNode& At(const std::string& name) const { return *nodes_.at(name); }
  uint64_t RingBytesOf(const std::string& name) const;
  StorageOptions StorageOptionsOf(const std::string& name) const;
  NodeOptions NodeOptionsOf(const std::string& name) const;
  NodeRuntime RuntimeOf(RigNode* node);
  bool Pass(const simulation::TimedNetwork::Passing& passing);
  void SetHooks(RigNode* node);
  void OnHeap(RigNode* node, Moment moment);
  void Tearing(RigNode* node);
  // Nothing it does has an effect outside any more.
  void GoDown(RigNode* node);
  void Discard(RigNode* node);
  void Run(RigNode* node);
  std::string CheckAtRest(const RigNode& node, uint64_t received) const;

  const Options options_;
  replica::ProcedureRegistry procedures_;
  simulation::World world_{/*seed=*/1, /*trace=*/nullptr};
  simulation::TimedNetwork network_;
  Stranger stranger_{&world_};
  std::unique_ptr<transport::Transport> strangers_;
  std::map<std::string, std::unique_ptr<RigNode>> nodes_;
  std::vector<std::string> order_;
  size_t next_ = 0;  // in order_, whose turn it is
  membership::View view_;
  Filter filter_;
  bool changed_ = false;  // by ChangeNext's
  Tap tap_;
  std::map<uint64_t, uint64_t> numbers_;  // of clients' last requests
  std::vector<std::shared_ptr<Issued>> issued_;
};

}  // namespace kamino::node

#endif  // KAMINO_TESTS_NODE_DRIVER_CHAIN_RIG_H_
