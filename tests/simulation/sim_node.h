// A node process: node::Node on a simulated disk, in simulated time, with
// simulated links and calls.
#ifndef KAMINO_TESTS_SIMULATION_SIM_NODE_H_
#define KAMINO_TESTS_SIMULATION_SIM_NODE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "membership/agent/agent_core.h"
#include "node/driver/node.h"
#include "node/driver/view_board.h"
#include "node/session/session_links.h"
#include "node/session/session_server.h"
#include "node/storage/storage.h"
#include "tests/node/storage/sim_media.h"
#include "tests/simulation/committed_log.h"
#include "tests/simulation/history.h"
#include "tests/simulation/session_records.h"
#include "tests/simulation/sim_agent.h"
#include "tests/simulation/sim_executor.h"
#include "tests/simulation/sim_manager.h"
#include "tests/simulation/timed_network.h"
#include "tests/simulation/workload.h"
#include "tests/simulation/world.h"

namespace kamino::simulation {

// An answer to a client.
struct NodeAnswer {
  absl::Status status;  // with an ErrorDetail payload where a node gave one
  std::string result;
  uint64_t sequence = 0;
  bool voided = false;  // of a session: the number
  std::vector<ReadValue> values;
  bool at_replica = false;  // a read, by a node that is not the tail
  kamino::v1::GetOutcomeResponse outcome;
  node::ViewBoard::Snapshot chain;  // as the node knows it
};

// How a process or its machine goes down.
enum class Crash {
  kProcess,  // every store survives
  kPower,    // undurable stores may survive
};

class SimNode final : public Process {
 public:
  // The speed of a machine that has other work as well.
  struct Pace {
    absl::Duration batch = absl::Microseconds(60);  // at most, to the next one
    size_t propagation_step = 4;  // transactions between two batches, but for
    uint64_t backup_rests_percent = 0;  // of them
  };
  struct Options {
    std::string cluster_id;
    node::StorageOptions storage;
    node::NodeOptions node;  // without its identity and its transports
    std::vector<transport::Capabilities> transports;  // the best first
    membership::AgentCore::Options agent;
    // Its media drain together, as memory does; else they are files on a disk.
    bool drains_all = false;
    // Whether that one is a member by the newest view, and is up; null: never
    // called.
    std::function<bool(const membership::Member&)> is_there = nullptr;
    // The view stored at etcd.
    std::function<membership::View()> stored_view;
    std::vector<std::string> cold;  // values that its heap holds for ever
    Pace pace;
    // An operator starts it without storage.restart_limit where it stays down.
    bool limit_is_lifted = false;
    // Whether it may differ from the others: at times it is started with a ring
    // of another size, or with an undo copy of another kind where all have the
    // same, which the others must refuse until an operator corrects it; or with
    // another release of the program: `newer` at first.
    bool unequal = false;
    bool newer = false;
    // It accepts session connections, and reports its log entries to these
    // records; null: neither.
    SessionRecords* session_records = nullptr;
  };
  // All nodes, by name; filled before the first one starts.
  struct Peers {
    std::map<std::string, SimNode*> nodes;
    std::map<std::string, SimManager*> managers;
  };
  using Reply = std::function<void(NodeAnswer)>;

  SimNode(World* world, TimedNetwork* network, const Peers* peers,
          CommittedLog* log, const std::string& name, Options options);
  ~SimNode() override;

  // --- Life and death.

  void Start();
  void Die(Crash crash);
  // A planned stop, as by SIGTERM: it hands over and is gone soon, or is told
  // again meanwhile, and ends at once. Then calls `ended`, unless it dies
  // before that.
  void StopInOrder(std::function<void()> ended);
  bool stopping() const { return up() && stopping_; }
  bool has_surrendered() const {
    return stopping() && agent_->has_surrendered();
  }
  // Starts it again after that, if it does end.
  void StartOnceEnded();
  // Dies at the `drains`-th drain from now on, whatever it is doing, if
  // `may_die` permits it then. 0: never.
  void DieAtDrain(uint64_t drains, Crash crash, std::function<bool()> may_die);
  bool doomed() const { return drains_left_ > 0; }
  // Its core thread hangs; the process's other threads continue.
  void HangCore(absl::Duration time);
  // The same, while it waits for its medium to finish a sync.
  void HangMedium(absl::Duration time);
  // Its medium is slow: each drain takes that long. Zero: no longer.
  void SlowMedia(absl::Duration drain);
  // Its disk is lost as well: it comes back empty.
  void LoseDisk();
  // Flips some bits of its files' heads and records, or of its ring; only while
  // it is down. The node may notice and end: its files are then moved away. It
  // must not continue as if nothing had happened.
  void FlipBits();
  // Computes its next transfer wrongly, as a failing processor does: the others
  // must find that out, and it must end and join anew.
  void ErrNext(bool errs = true) { errs_next_ = errs; }
  bool errs_next() const { return errs_next_; }
  bool has_erred() const { return has_erred_; }
  // It is out of the chain: its result no longer counts.
  void Forgive() { has_erred_ = may_differ_ = false; }
  // Flips a bit of a value that no client reads, in its heap, while it is up:
  // the others must find that out, and it must end and join anew.
  void Decay();
  // It holds other data than was written, by Decay or as a copy of such a node;
  // as far as can be seen, or could when it was up.
  bool decayed();
  // Crashing requests end the process (Workload::AddCrashing), and its
  // supervisor restarts it after this time; infinite: it does not.
  void set_supervisor_delay(absl::Duration delay) { supervised_ = delay; }
  void set_immune(bool immune) { immune_ = immune; }
  int deaths_by_requests() const { return deaths_by_requests_; }
  // Each process of this node dies after that time.
  void set_life(absl::Duration life) { life_time_ = life; }
  int starts() const { return starts_; }
  // It has died too often, and says so.
  bool stays_down() const { return stays_down_; }
  // A copy of its disk as it is now, in this life and view.
  struct Copy {
    uint64_t incarnation = 0;
    uint64_t view_id = 0;
    uint64_t applied = 0;
    bool receiving = false;  // a state transfer has not ended
    node::SimDisk::Images images;
  };
  Copy TakeCopy() const;
  // The files alone may record this while the node follows the chain.
  bool FilesSayReceiving() const;
  // The same of one that is down.
  Copy TakeCopyOfDisk() const;
  // Whether the node still is in that life and view.
  bool IsOf(const Copy& copy) const;
  // It was put back to a copy, and is no sound member yet.
  bool put_back() const { return put_back_; }
  // Its disk is put back to that; only while it is down.
  void PutBack(const Copy& copy);
  // Puts some of its files back, and keeps the others. If more was applied
  // since than with one drain, the node must refuse them and name the old ones.
  // Its files are then moved away.
  void PutBackSome(const Copy& copy);
  // Its last start may have rolled back by an undo copy of another time than
  // its heap's, but of the same drain: its data may be wrong
  // (docs/formats/stamp.md).
  bool may_differ() const { return may_differ_; }

  // --- Clients: called as their messages arrive. `reply` sends the answer.

  void Mutate(replica::Mutation request, absl::Duration timeout, Reply reply);
  void Read(std::vector<std::string> keys, node::ReadAt at, Reply reply);
  void ReadOutcome(kamino::v1::RequestId id, Reply reply);
  void AskChain(Reply reply);

  // The address for session connections.
  std::string SessionAddress() const { return absl::StrCat(name(), ":s"); }
  static transport::Capabilities SessionTransport() { return {.name = "tcp"}; }

  // --- For checks; only while it is up.

  // Not before it has opened its files, nor while it records its end.
  bool has_core() const { return up() && node_ != nullptr && !ended_; }
  // Only with a core.
  node::ChainNode* node() const { return &node_->chain_node(); }
  node::Storage* storage() { return storage_; }
  uint64_t incarnation() const { return incarnation_; }
  // It is the whole chain, and head.
  bool serves_alone() const;

 private:
  // How long its core has waited for its medium in all.
  absl::Duration MediumTime() const;
  // An operator looks at the files that were put back, or at the flags.
  static constexpr absl::Duration kOperatorDelay = absl::Milliseconds(700);

  // The slip in its next operation.
  Slip Slips();
  void Boot();
  void ListenForSessions();
  node::NodeOptions NodeOptionsOf();
  node::NodeRuntime Runtime();
  node::Node::Events NodeEvents();
  void TraceEntry(const replica::LogEntry& entry);
  // Takes the node's new log entries into the log.
  void Observe(const node::ChainNode& node);
  void CountTransfers(const replica::ChainCore& core);
  void OnDrain();
  bool DiesOf(absl::string_view victim);
  void BeSupervised();
  void DieByItself();
  void EndInOrder();
  // From now on nothing that the process does has an effect outside. The
  // process is discarded before the next event.
  void GoDown(Crash crash);
  void Discard();
  // It ends, and an operator moves its files away.
  void BeginAnewLater(const absl::Status& why);
  void OnFatal(const absl::Status& status);
  // Where the heap holds that value; null: nowhere.
  std::byte* Find(const std::string& value) const;
  // Other nodes told it that its data differs from theirs.
  void OnWrong(const absl::Status& status);
  // Whether that status is what it must report of its files.
  bool TellsOldFile(const absl::Status& status) const;
  // Draws the flags of this start.
  void DrawFlags();
  // Makes options that do not fit the others'.
  static void SetMismatchedFlags(node::StorageOptions* options);
  bool OthersAreUp() const;
  // It or another node differs from the others, and is refused for that.
  bool IsMismatched(const absl::Status& status) const;
  // Its older program lacks a procedure that the chain has executed.
  bool LacksProcedure(const absl::Status& status) const;
  // Whether others may be refused because of how it was started.
  bool CountsAsMismatched(const membership::View& stored) const;
  void OnMismatch(const absl::Status& status);
  void SetRight();
  void OnStaysDown(const absl::Status& status);
  bool TellsRot(const absl::Status& status) const;
  NodeAnswer Answer(absl::Status status) const;

  TimedNetwork* const network_;
  const Peers* const peers_;
  CommittedLog* const log_;
  const replica::ProcedureRegistry procedures_;
  const replica::ProcedureRegistry newer_procedures_;
  const Options options_;
  Random random_;

  std::unique_ptr<node::SimDisk> disk_;
  uint64_t drains_left_ = 0;  // until it dies; 0: it need not
  Crash next_crash_ = Crash::kPower;
  std::function<bool()> may_die_;
  // It has an older copy of its disk: the cluster may refuse it for that, until
  // it is a sound member again.
  bool put_back_ = false;
  // Those of its files that are older than the others.
  std::vector<std::string> old_files_;
  bool must_tell_old_files_ = false;  // by more than one drain
  // The last mutation applied one drain before it went down.
  uint64_t applied_before_ = 0;
  bool was_receiving_ = false;
  bool needs_undo_copy_ = false;  // a start would roll back by it
  bool may_differ_ = false;
  bool rotten_ = false;  // bits of its files have flipped; as long
  absl::Duration drain_takes_;
  absl::Duration medium_time_before_;  // of the last hang of its medium
  absl::Time medium_hangs_since_ = absl::InfinitePast();
  absl::Duration medium_hangs_for_;
  bool errs_next_ = false;
  // In this life or one before; it has not begun anew since.
  bool has_erred_ = false;
  bool decayed_ = false;
  absl::Duration supervised_ = absl::Milliseconds(200);
  bool immune_ = false;
  int deaths_by_requests_ = 0;
  absl::Duration life_time_ = absl::InfiniteDuration();
  int starts_ = 0;
  uint64_t boot_ = 1;  // of its machine
  bool stays_down_ = false;
  bool limit_is_lifted_ = false;  // with the next start
  bool newer_ = false;            // its program
  bool mismatched_ = false;       // its flags do not fit the others'
  absl::Time mismatched_until_ = absl::InfinitePast();  // to others
  std::set<uint64_t>
      mismatched_lives_;  // incarnations that it was started so in
  absl::Time started_;
  // How often its process, but not its machine, has ended since a process lived
  // for long: at least as often as the node counts itself.
  uint32_t deaths_ = 0;

  // Owned by the current process.
  node::Storage* storage_ = nullptr;  // the node's
  SimExecutor* executor_ = nullptr;   // likewise
  std::unique_ptr<SimAgent> agent_;
  std::unique_ptr<node::Node> node_;
  std::unique_ptr<node::SessionServer> sessions_;
  std::unique_ptr<node::SessionLinks> session_links_;
  uint64_t incarnation_ = 0;
  // Transfers that it had received when it last had all of one.
  uint64_t transfers_ = 0;
  bool stopping_ = false;
  bool ended_ = false;  // in order, but for what that makes durable
  std::function<void()> on_ended_;

  // Log entries that log_ does not have yet, by their first mutation: the
  // number of the last one, and the entry.
  std::map<uint64_t, std::pair<uint64_t, std::string>> appended_;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_SIM_NODE_H_
