// Everything that lives in a run: etcd, managers, nodes and clients.
#ifndef KAMINO_TESTS_SIMULATION_CLUSTER_H_
#define KAMINO_TESTS_SIMULATION_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/chain_mode.h"
#include "membership/view.h"
#include "tests/simulation/committed_log.h"
#include "tests/simulation/history.h"
#include "tests/simulation/session_client.h"
#include "tests/simulation/session_records.h"
#include "tests/simulation/sim_client.h"
#include "tests/simulation/sim_etcd.h"
#include "tests/simulation/sim_manager.h"
#include "tests/simulation/sim_node.h"
#include "tests/simulation/timed_network.h"
#include "tests/simulation/workload.h"
#include "tests/simulation/world.h"

namespace kamino::simulation {

struct ClusterOptions {
  ChainMode mode = ChainMode::kKamino;
  int nodes = 4;         // of which
  int chain_length = 4;  // are in the chain at first
  int managers = 2;
  int clients = 4;
  int session_clients = 0;  // besides
  uint32_t session_window = 4;
  absl::Duration think = absl::Milliseconds(120);
  uint64_t abandon_percent = 0;
  uint64_t astray_percent = 0;
  bool simple_undo_copy = false;
  bool undo_log = false;  // rather than an undo copy
  bool drains_all = true;
  // Small, so that some records are dropped; 0: the maximum.
  size_t client_records = 0;
  size_t evict_at_once = 1;
  uint64_t fresh_ids_percent = 0;    // see SimClient
  uint64_t late_percent = 0;         // see SimClient
  uint64_t replica_percent = 0;      // see SimClient
  uint32_t ballast_bytes = 0;        // see Workload
  uint64_t hoard_percent = 0;        // see Workload
  uint64_t conditional_percent = 0;  // see Workload
  absl::Duration manager_distance;   // more for each call
  absl::Duration away_limit = absl::Seconds(3);
  SimNode::Pace pace;
  uint64_t transfer_bytes_per_s = 0;  // 0: as fast as can be
  size_t link_credits = 0;            // see TimedNetwork; 0: plenty
  absl::Duration most_held;           // see TimedNetwork
  uint64_t scrub_bytes_per_s = 0;     // 0: nothing is compared
  absl::Duration scrub_min_pass;
  absl::Duration ack_delay;
  // As the storage and node options; without a limit nodes do not wait either.
  uint32_t restart_limit = 0;
  node::RestartPolicy restarts;
  bool restart_limit_is_lifted = false;  // by operators
  bool verbs = false;  // there is another transport, which is preferred
  // Not 0: the seed by which managers and nodes differ in the settings that may
  // differ.
  uint64_t unequal = 0;
  int without_verbs = 0;      // nodes that it does not reach
  bool certificates = false;  // links identify their peers
};

class Cluster {
 public:
  Cluster(World* world, const ClusterOptions& options);

  // Starts every process; clients start once the chain serves.
  void Start();

  World* world() { return world_; }
  TimedNetwork& network() { return network_; }
  SimEtcd& etcd() { return etcd_; }
  std::vector<std::unique_ptr<SimManager>>& managers() { return managers_; }
  std::vector<std::unique_ptr<SimNode>>& nodes() { return nodes_; }
  std::vector<std::unique_ptr<SimClient>>& clients() { return clients_; }
  std::vector<std::unique_ptr<SessionClient>>& session_clients() {
    return session_clients_;
  }
  // The names of all clients.
  std::vector<std::string> ClientNames() const;
  void StopClients();
  bool ClientsAreIdle() const { return BusyClients().empty(); }
  // The clients with an operation under way, with the last refusal after which
  // each of them retries.
  std::vector<std::string> BusyClients() const;
  SimNode* node(const std::string& name) { return peers_.nodes.at(name); }

  // The current view, as stored at etcd.
  membership::View StoredView() const;
  // Whether that node is a member of that view, and is up.
  bool IsThere(const membership::Member& member);
  // The stored number up to which the chain has acknowledged mutations.
  uint64_t StoredAcknowledged() const;
  // The newest view that was stored, even if the store was put back since.
  membership::View LastView() const;

  const Workload& workload() const { return workload_; }
  Workload& workload() { return workload_; }
  const CommittedLog& log() const { return log_; }
  CommittedLog& log() { return log_; }
  const History& history() const { return history_; }
  const SentRequests& sent() const { return sent_; }
  const SessionRecords& session_records() const { return session_records_; }
  const ClusterOptions& options() const { return options_; }
  // How many clients may have stored outcomes.
  size_t max_clients() const {
    return NodeOptions("").node.admission.max_clients;
  }

 private:
  SimNode::Options NodeOptions(const std::string& name) const;
  void MakeSessionClients();
  // Draws the `number`-th node's options where they may differ from others'.
  void Differ(int number, SimNode::Options* options) const;
  void StartOthers();

  World* const world_;
  const ClusterOptions options_;
  TimedNetwork network_;
  SimEtcd etcd_;
  CommittedLog log_;
  Workload workload_;
  History history_;
  SentRequests sent_;
  SessionRecords session_records_;
  SimNode::Peers peers_;
  std::vector<std::unique_ptr<SimManager>> managers_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::vector<std::unique_ptr<SimClient>> clients_;
  std::vector<std::unique_ptr<SessionClient>> session_clients_;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_CLUSTER_H_
