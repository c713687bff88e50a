// A client by the rules of client/call.h: one mutation at a time, named by
// client id and number, retried under that name until an answer says what
// became of it.
#ifndef KAMINO_TESTS_SIMULATION_SIM_CLIENT_H_
#define KAMINO_TESTS_SIMULATION_SIM_CLIENT_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/driver/view_board.h"
#include "tests/simulation/committed_log.h"
#include "tests/simulation/history.h"
#include "tests/simulation/sim_node.h"
#include "tests/simulation/timed_network.h"
#include "tests/simulation/workload.h"
#include "tests/simulation/world.h"

namespace kamino::simulation {

// Function and arguments that were sent under a name, mutation by mutation.
using SentRequests =
    std::map<std::pair<uint64_t, uint64_t>, std::vector<std::string>>;

class SimClient final : public Process {
 public:
  struct Options {
    absl::Duration think = absl::Milliseconds(40);  // at most, between two
    uint64_t abandon_percent = 0;  // of mutations without an answer
    uint64_t astray_percent = 0;   // of attempts, which go to any node
    uint64_t fresh_ids_percent =
        0;  // of mutations, after which a new id is used
    // Percent of the mutations not known to have failed that are sent once
    // more, much later.
    uint64_t late_percent = 0;
    // Percent of the reads that go to any node first, then to the tail, and
    // that any replica may answer.
    uint64_t replica_percent = 0;
  };

  SimClient(World* world, TimedNetwork* network, const SimNode::Peers* peers,
            Workload* workload, const CommittedLog* log, History* history,
            SentRequests* sent, const std::string& name,
            const Options& options);

  // Begins with `first`, then continues with the workload until Stop.
  void Start(std::optional<Record> first);
  // Finishes the operations under way.
  void Stop() { stopping_ = true; }
  bool idle() const { return idle_; }
  bool done_first() const { return operations_ > 0; }
  uint64_t operations() const { return operations_; }
  // The last refusal after which the operation under way is tried again.
  const absl::Status& last_refusal() const { return last_refusal_; }

 private:
  enum class Phase {
    kAsk,     // the operation itself
    kSettle,  // an empty commit under its name, as an answer was lost
    kFetch,   // the operation again, known to have committed
  };

  void Think();
  void Begin(Record record);
  void NewId();
  // Names the mutation under way.
  void SetName();
  Record AskForOutcome();
  // Remembers requests that were sent and are not known to have failed.
  void Remember(const replica::Mutation& request);
  void SendLate(const replica::Mutation& request);
  bool KnowsChain() const {
    return chain_ != nullptr && chain_->nodes_size() > 0;
  }
  void LearnChain(const NodeAnswer& answer);
  void Attempt();
  void SendTo(SimNode* node);
  void OnAnswer(const NodeAnswer& answer);
  void OnRefused(const absl::Status& status);
  void OnFullHeap(const absl::Status& status);
  void OnSettled(const NodeAnswer& answer);
  void Retry(bool refresh);
  void Refresh();
  SimNode* AnyNode();
  void Finish(Record::End end);
  replica::Mutation Request() const;
  std::string Mark() const;
  // Remembers the versions of registers that the answer tells.
  void LearnVersions();

  TimedNetwork* const network_;
  const SimNode::Peers* const peers_;
  Workload* const workload_;
  const CommittedLog* const log_;
  History* const history_;
  SentRequests* const sent_;
  const Options options_;
  Random random_;

  node::ViewBoard::Snapshot chain_;  // null: not asked yet
  uint64_t client_id_ = 0;
  uint64_t number_ = 1;  // the next one
  uint64_t seen_ = 0;    // the highest sequence of any answer
  std::deque<kamino::v1::RequestId> sent_before_;  // the last few
  Workload::Versions versions_;                    // of registers
  bool stopping_ = false;
  bool idle_ = true;
  uint64_t operations_ = 0;

  // The operation under way.
  Record* record_ = nullptr;
  Phase phase_ = Phase::kAsk;
  uint64_t attempt_ = 0;  // answers to older ones do not count
  int tries_ = 0;
  bool outcome_unknown_ = false;
  bool expired_ = false;  // another id is to be taken
  absl::Status refusal_;  // to be settled
  absl::Status last_refusal_;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_SIM_CLIENT_H_
