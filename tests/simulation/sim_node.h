// A node process: head::ChainNode and membership::AgentCore with a simulated
// disk, simulated time, links and calls, as head/node.h has real ones.
#ifndef KAMINO_TESTS_SIMULATION_SIM_NODE_H_
#define KAMINO_TESTS_SIMULATION_SIM_NODE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "head/chain_node.h"
#include "head/storage.h"
#include "membership/agent_core.h"
#include "tests/head/sim_media.h"
#include "tests/simulation/committed_log.h"
#include "tests/simulation/history.h"
#include "tests/simulation/sim_manager.h"
#include "tests/simulation/timed_network.h"
#include "tests/simulation/world.h"

namespace kamino::simulation {

// What a client gets.
struct NodeAnswer {
  absl::Status status;  // with an ErrorDetail payload where a node has said so
  std::string result;
  uint64_t sequence = 0;
  std::vector<ReadValue> values;
  kamino::v1::GetOutcomeResponse outcome;
  membership::View chain;  // as the node knows it; may be none
};

// How a process or its machine goes down.
enum class Crash {
  kProcess,  // every store survives
  kPower,    // what is not durable survives or not
};

class SimNode final : public LinkOwner {
 public:
  // How a machine that has other things to do as well goes about its work.
  struct Pace {
    absl::Duration batch = absl::Microseconds(60);  // at most, to the next one
    size_t backup_step = 4;  // transactions between two batches, but for
    uint64_t backup_rests_percent = 0;  // of them
  };
  struct Options {
    std::string cluster_id;
    head::StorageOptions storage;
    replica::ChainOptions chain;
    head::AdmissionOptions admission;
    membership::AgentCore::Options agent;
    bool drains_all = false;
    Pace pace;
  };
  // Everyone there is, by name; filled before anyone starts.
  struct Peers {
    std::map<std::string, SimNode*> nodes;
    std::map<std::string, SimManager*> managers;
  };
  using Reply = std::function<void(NodeAnswer)>;

  SimNode(World* world, TimedNetwork* network, const Peers* peers,
          CommittedLog* log, const replica::ProcedureRegistry* procedures,
          const std::string& name, Options options);
  ~SimNode() override;

  // --- Life and death.

  void Start();
  void Die(Crash crash);
  // At the `drains`-th drain from now on, in whatever it then does, if it may
  // then. 0: not at all.
  void DieAtDrain(uint64_t drains, Crash crash, std::function<bool()> may_die);
  bool doomed() const { return drains_left_ > 0; }
  // Its disk is lost as well: it comes back empty.
  void LoseDisk();
  // A copy of its disk as it is now, in this life and view.
  struct Copy {
    uint64_t incarnation = 0;
    uint64_t view_id = 0;
    head::SimDisk::Images images;
  };
  Copy TakeCopy() const;
  // Whether it still is in that life and view.
  bool IsOf(const Copy& copy) const;
  // Its disk is put back to that; only while it is down.
  void PutBack(const Copy& copy);

  // --- Clients; called as their messages arrive. `reply` sends the answer.

  void Mutate(kamino::internal::v1::ChainRequest request,
              absl::Duration timeout, Reply reply);
  void Read(std::vector<std::string> keys, Reply reply);
  void ReadOutcome(kamino::v1::RequestId id, Reply reply);
  void AskChain(Reply reply);

  // --- Links.

  LinkId OnAccepted() override;
  void OnOpened(LinkId link) override;
  void OnMessage(LinkId link, const ChainMessage& message) override;
  void OnClosed(LinkId link) override;

  // --- For checks; only while it is up.

  head::ChainNode* node() { return node_.get(); }
  head::Storage* storage() { return storage_.get(); }
  uint64_t incarnation() const { return incarnation_; }
  // It is the whole chain, and head.
  bool serves_alone() const;

 private:
  using Input = std::function<void(absl::Time now)>;

  membership::Member Self() const;
  void Boot();
  void Post(Input input);
  void ScheduleBatch();
  void RunBatch();
  void TraceOperation(const replica::OperationRing::Entry& entry);
  // Tells the manager's side what this node says of itself.
  void Report();
  void CarryOut(const replica::Actions& actions);
  void Tick();
  // Takes what the node has done into the log.
  void Observe();
  void OnDrain();
  // Whether the machine went down within what was just done; if so the
  // process ends.
  bool EndIfCrashed();
  void Discard();
  void Fatal(const absl::Status& status);
  NodeAnswer Answer(absl::Status status) const;

  void AskManager();
  void CallManager(const membership::AgentCore::Call& call);
  void OnManagerAnswer(const membership::AgentCore::Call& call,
                       const SimManager::Answer& answer);
  void OnRefused(const absl::Status& status);
  void WaitThenAsk(absl::Duration wait);
  void RequestView();

  TimedNetwork* const network_;
  const Peers* const peers_;
  CommittedLog* const log_;
  const replica::ProcedureRegistry* const procedures_;
  const Options options_;
  Random random_;

  std::unique_ptr<head::SimDisk> disk_;
  uint64_t drains_left_ = 0;  // until it dies; 0: it need not
  Crash next_crash_ = Crash::kPower;
  std::function<bool()> may_die_;
  bool crashed_ = false;  // in the middle of what it does
  // It is on an older copy of its disk: the cluster may refuse it for that.
  bool put_back_ = false;

  // Of this life.
  std::unique_ptr<head::Storage> storage_;
  std::unique_ptr<head::ChainNode> node_;
  std::unique_ptr<membership::AgentCore> agent_;
  uint64_t incarnation_ = 0;
  membership::NodeReport reported_;
  std::vector<Input> inbox_;
  bool batch_scheduled_ = false;
  LinkId next_accepted_ = 2;
  uint64_t call_ = 0;  // the one to the manager that is outstanding
  uint64_t wait_ = 0;  // the wait for the next one
  bool calling_ = false;

  // Operations by number that the log does not have yet.
  // By first mutation: the last one, and the operation.
  std::map<uint64_t, std::pair<uint64_t, std::string>> appended_;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_SIM_NODE_H_
