// A running node: a ChainNode, links to its neighbours and the manager's views,
// and the execution of its actions, batch after batch. Its runtime is given to
// it: a process's own (node/driver/real_runtime.h), or a simulated one.
#ifndef KAMINO_NODE_DRIVER_NODE_H_
#define KAMINO_NODE_DRIVER_NODE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "head/request.h"
#include "kamino/v1/kamino.pb.h"
#include "membership/condition.h"
#include "membership/view_source.h"
#include "node/driver/call_load.h"
#include "node/driver/chain_node.h"
#include "node/driver/core_activity.h"
#include "node/driver/core_executor.h"
#include "node/driver/departure.h"
#include "node/driver/link_hub.h"
#include "node/driver/propagation_pace.h"
#include "node/driver/restart_policy.h"
#include "node/driver/slow_operations.h"
#include "node/driver/stage_times.h"
#include "node/driver/view_board.h"
#include "node/storage/storage.h"
#include "rpc/cluster_identity.h"

namespace kamino::node {

// The environment of a node.
struct NodeRuntime {
  // The clock of the whole node; never goes back. Any thread.
  std::function<absl::Time()> clock;
  // Runs the tasks of the core thread.
  std::unique_ptr<CoreExecutor> executor;
  // Most committed transactions that are copied to the undo copy between two
  // batches; called each time. PropagationPace lowers it if they take long.
  std::function<size_t()> propagation_step = [] { return size_t{64}; };
};

struct NodeOptions {
  // heap_bytes and incarnation are taken from the storage.
  replica::ChainOptions chain;
  head::AdmissionOptions admission;
  LinkHub::Options links;
  RestartPolicy restarts;
  DepartureOptions departure;
  engine::OpenSnapshotsOptions snapshots;
  // Mutations, and their bytes of arguments, that may wait for the core thread
  // or be on their way; more are refused with REASON_OVERLOADED.
  int64_t max_pending_requests = 16384;
  int64_t max_pending_bytes = 256 << 20;
  CallLoadOptions reads;
  // Only the limits on unsent answers apply.
  CallLoadOptions results;
  // Gets this node's cluster, shared with its clients to managers. Null: the
  // node makes its own.
  std::shared_ptr<rpc::ClusterIdentity> cluster;
};

// State for probes; see docs/operate/metrics.md.
struct NodeStanding {
  // In the view, caught up, linked to its neighbours, and it holds a lease.
  bool ready = false;
  bool lease = false;
  membership::Role role = membership::Role::kOutside;
  membership::Condition condition = membership::Condition::kUnknown;
  // The links to its neighbours have never come up in its view, although that
  // view is older than links usually need.
  bool unlinked = false;
};

// A node's metrics besides its status, since its start.
struct NodeSample {
  kamino::v1::GetNodeStatusResponse status;  // Node::Describe
  NodeStanding standing;
  uint64_t view_id = 0;
  uint64_t view_changes = 0;
  CallLoadStats reads;
  CallLoadStats results;
  engine::OpenSnapshotsStats snapshots;
  engine::HeapReserve heap_reserve;
  uint64_t backups = 0;         // saved from this node
  uint64_t backup_bytes = 0;    // of their records
  absl::Duration since_backup;  // infinite: there was none
  uint64_t result_bytes = 0;    // kept until their mutations are completed
  // As those of the status.
  std::vector<LinkHub::Traffic> links;
  LinkHub::Ended links_ended;
  struct InCondition {
    uint64_t times = 0;
    absl::Duration time;
  };
  // By membership::Condition.
  std::array<InCondition, membership::kConditions> conditions;
};

// A user of the node's core thread that acts on the results of requests.
class CoreUser {
 public:
  virtual ~CoreUser() = default;
  // With each tick of the node.
  virtual void OnTick(absl::Time now) = 0;
  // The batch's actions were carried out; sends the answers.
  virtual void EndOfBatch() = 0;
};

// Thread-safe unless said otherwise.
class Node {
 public:
  struct Events {
    // The node cannot continue; the process should stop. On any thread.
    std::function<void(absl::Status)> fatal;
    // Whether this node may serve, and in which role; at each change. On the
    // core thread, from the first view on, so never before Join.
    std::function<void(membership::Role role, bool serves)> role;
    // After the node has decided a batch, before any of it leaves the node; for
    // tests that keep a history. On the core thread. May be null.
    std::function<void(const ChainNode& node)> decided;
    // Each new view. On the core thread. May be null.
    std::function<void(const membership::View& view)> view = nullptr;
  };

  // Starts the core thread and listens for links. `procedures` and `views`
  // must outlive the node, and so must what `runtime` refers to.
  static absl::StatusOr<std::unique_ptr<Node>> Create(
      NodeOptions options, NodeRuntime runtime,
      std::unique_ptr<Storage> storage,
      const replica::ProcedureRegistry* procedures,
      membership::ViewSource* views, Events events);
  ~Node();

  // Registers with the manager, once. Clients reach the node at
  // `service_address` (host:port), other nodes at `peer_address`, or at the
  // same address if that is "". Delayed if this node has crashed repeatedly.
  absl::Status Join(const std::string& service_address,
                    const std::string& peer_address = "");

  // A planned stop: hands this node's part over to the other members, if they
  // are enough, and surrenders its lease. Calls `done` once, on the core
  // thread, when that is over, successful or not, after some seconds at most;
  // `parted`: the chain continues without this node. Requests meanwhile are
  // redirected to the next view, or wait for it.
  void HandOver(std::function<void(bool parted)> done);

  // The process is about to stop as planned. Executes nothing more, and calls
  // `done` once, on the core thread, when the next head cannot mistake a
  // request here for one on which this node crashed. That needs an answer of
  // the successor, which may never come: wait for kRetireTime, then Stop.
  void Retire(std::function<void()> done);
  static constexpr absl::Duration kRetireTime = absl::Milliseconds(100);
  // Answers outstanding requests and stops. Idempotent.
  void Stop();
  // After Stop: the process ends as planned, not by a failure.
  void EndInOrder() { storage_->restarts()->OnEndInOrder(); }
  // After Stop: it ends before it has registered.
  void EndRefused() { storage_->restarts()->OnRefused(); }

  // From now on `user` is called; it outlives the core thread (Stop). Once.
  void Attach(CoreUser* user);

  // A mutation; request.done is called on the core thread, or at once on this
  // one when it is refused.
  void Mutate(head::Request request);
  // The same, from the core thread.
  void Submit(head::Request request);

  // Runs `task` on the core thread; false when the node has stopped.
  bool Run(absl::AnyInvocable<void(ChainNode& node)> task);
  // The same for a read, which may wait longer behind other reads
  // (CoreExecutor::PostRead).
  bool Read(absl::AnyInvocable<void(ChainNode& node)> read);

  // Limit of its snapshots. Any thread.
  uint64_t max_snapshot_bytes() const { return options_.snapshots.max_bytes; }

  // The core thread's loop (CoreExecutor::loop).
  std::shared_ptr<transport::EventLoop> loop() { return core_->loop(); }

  // Fills everything but the header. Core thread only.
  void Describe(ChainNode& node, kamino::v1::GetNodeStatusResponse* response);
  // Core thread only.
  void Sample(ChainNode& node, NodeSample* sample);
  // Core thread only.
  ChainNode& chain_node() { return *node_; }

  // As of the last tick.
  NodeStanding standing() const;
  // The addresses at which other nodes reach its links, by transport name.
  std::map<std::string, std::string> LinkAddresses() const {
    return links_->Addresses(/*service_address=*/"");
  }
  // ChainProgress::settled as of the last batch: every node of the chain has
  // executed the mutations up to it. For ResponseHeader.sequence. Any thread.
  uint64_t settled() const { return settled_.load(std::memory_order_relaxed); }
  // The core thread's current activity.
  const CoreActivity& activity() const { return activity_; }
  const StageTimes& stages() const { return stages_; }
  // Reports operations slower than this from now on; zero: none.
  void TellSlowerThan(absl::Duration threshold) {
    slow_.SetThreshold(threshold);
    stages_.TimeAll(slow_.on());
  }
  SlowOperations& slow() { return slow_; }

  // Load of reads, and of mutations that have a result.
  CallLoad& reads() { return reads_; }
  CallLoad& results() { return results_; }

  ViewBoard& view_board() { return view_board_; }
  // This node's cluster, by its data or the newest view. Any thread.
  const rpc::ClusterIdentity& cluster() const { return *cluster_; }
  const std::string& node_id() const { return options_.chain.node_id; }
  const std::string& cluster_id() const { return options_.chain.cluster_id; }
  // A backup was saved from this node. Any thread.
  void NoteBackup(uint64_t bytes);
  ChainId chain_id() const { return options_.chain.chain_id; }
  absl::Time Now() const { return clock_(); }

 private:
  Node(NodeOptions options, NodeRuntime runtime,
       std::unique_ptr<Storage> storage,
       const replica::ProcedureRegistry* procedures,
       membership::ViewSource* views, Events events);
  CoreExecutor::Hooks ExecutorHooks();
  absl::Status Listen();
  LinkHub::Events HubEvents();

  // Counts the request until it is answered; false: it was refused.
  bool Admit(head::Request* request);

  // Core thread only.
  bool EndOfBatch();
  // Takes the departure's next step.
  void ContinueDeparture();
  void CarryOut(replica::Actions actions);
  void ReportRole();
  void NoteCondition(absl::Time now);
  // One step of it. Returns whether there is more to do.
  bool BringUndoCopyUpToDate();
  void Report();  // to the manager
  void Fatal(absl::Status status);

  const NodeOptions options_;
  const std::function<absl::Time()> clock_;
  const std::function<size_t()> propagation_step_;
  PropagationPace pace_;  // core thread
  const Events events_;
  membership::ViewSource* const views_;
  const absl::Time started_;
  ViewBoard view_board_;
  const std::shared_ptr<rpc::ClusterIdentity> cluster_;
  CallLoad reads_;
  CallLoad results_;
  std::atomic<int64_t> pending_requests_{0};
  std::atomic<int64_t> pending_bytes_{0};
  std::atomic<uint32_t> standing_bits_{0};  // NodeStanding
  std::atomic<uint64_t> settled_{0};
  std::atomic<uint64_t> backups_{0};
  std::atomic<uint64_t> backup_bytes_{0};
  // On the node's clock, in nanoseconds since its epoch.
  std::atomic<int64_t> last_backup_{0};
  CoreActivity activity_;
  StageTimes stages_;
  SlowOperations slow_;

  // Core thread only.
  std::unique_ptr<Storage> storage_;
  const membership::Agreement agreement_;
  std::unique_ptr<ChainNode> node_;
  membership::Role reported_role_ = membership::Role::kOutside;
  bool reported_serves_ = false;
  uint64_t view_changes_ = 0;
  decltype(NodeSample::conditions) conditions_;
  membership::Condition condition_ = membership::Condition::kUnknown;
  absl::Time condition_since_;  // counted until then
  membership::NodeReport reported_;
  ChainNode::Standing standing_;      // as of the last report
  bool ticked_ = true;                // since cursors were reported
  std::function<void()> on_retired_;  // null: no call of Retire waits
  Departure departure_;
  std::function<void(bool)> on_parted_;  // likewise
  CoreUser* user_ = nullptr;

  bool stopped_ = false;  // Stop() only
  std::unique_ptr<CoreExecutor> core_;
  std::unique_ptr<LinkHub> links_;  // posts to core_
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_NODE_H_
