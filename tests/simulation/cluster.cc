#include "tests/simulation/cluster.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kamino/internal/v1/membership.pb.h"
#include "membership/records.h"

namespace kamino::simulation {
namespace {

constexpr char kClusterId[] = "sim";
constexpr char kViewKey[] = "/kamino/sim/chains/1/view";
constexpr char kRenewalKey[] = "/kamino/sim/renewal";
constexpr absl::Duration kStartPoll = absl::Milliseconds(5);

constexpr size_t kHeapBytes = 512u << 10;
constexpr size_t kLogBytes = 64u << 10;
constexpr size_t kRingBytes = 128u << 10;
constexpr size_t kScrubRangeBytes = 32u << 10;

// A node's identity is that of a node, whatever its name; a client has none.
std::string IdentityOf(const std::string& process) {
  return absl::StrCat("kamino://", kClusterId,
                      process[0] == 'n' ? "/node/" : "/writer/", process);
}

absl::Status AdmitNodes(const std::string& identity) {
  return absl::StrContains(identity, "/node/")
             ? absl::OkStatus()
             : absl::PermissionDeniedError("not a node");
}

membership::ManagerOptions CoreOptionsOf(const ClusterOptions& options) {
  membership::ManagerOptions manager;
  manager.cluster_id = kClusterId;
  manager.chain_length = options.chain_length;
  manager.failure_timeout = absl::Milliseconds(300);
  manager.heartbeat_interval = absl::Milliseconds(40);
  manager.takeover_grace = absl::Milliseconds(150);
  manager.away_limit = options.away_limit;
  return manager;
}

SimManager::Options ManagerOptionsOf(const ClusterOptions& options,
                                     int number) {
  SimManager::Options manager;
  manager.core = CoreOptionsOf(options);
  if (options.certificates) manager.identity_of = IdentityOf;
  if (options.unequal == 0) return manager;
  Random random(options.unequal + number);
  manager.core.failure_timeout =
      random.Between(absl::Milliseconds(200), absl::Milliseconds(450));
  manager.core.heartbeat_interval = manager.core.failure_timeout / 8;
  manager.leader_ttl =
      random.Between(absl::Milliseconds(700), absl::Milliseconds(1500));
  return manager;
}

TimedNetwork::Options NetworkOptionsOf(const ClusterOptions& options) {
  TimedNetwork::Options network;
  if (options.link_credits > 0) network.credits = options.link_credits;
  network.most_held = options.most_held;
  if (options.certificates) network.identity_of = IdentityOf;
  return network;
}

Workload::Options WorkloadOptionsOf(const ClusterOptions& options) {
  Workload::Options workload;
  workload.ballast_bytes = options.ballast_bytes;
  workload.hoard_percent = options.hoard_percent;
  workload.conditional_percent = options.conditional_percent;
  workload.newer_percent = options.unequal != 0 ? 10 : 0;
  return workload;
}

membership::View Parse(const std::string& stored) {
  kamino::internal::v1::ViewRecord record;
  record.ParseFromString(stored);
  return membership::FromProto(record);
}

}  // namespace

Cluster::Cluster(World* world, const ClusterOptions& options)
    : world_(world),
      options_(options),
      network_(world, NetworkOptionsOf(options)),
      etcd_(world),
      log_(world),
      workload_(WorkloadOptionsOf(options), world->random().Fork()) {
  for (int i = 1; i <= options.managers; ++i) {
    const std::string name = absl::StrCat("m", i);
    managers_.push_back(std::make_unique<SimManager>(
        world, &network_, &etcd_, name, ManagerOptionsOf(options, i)));
    peers_.managers[name] = managers_.back().get();
    network_.SetFar({name}, options.manager_distance);
  }
  for (int i = 1; i <= options.nodes; ++i) {
    const std::string name = absl::StrCat("n", i);
    SimNode::Options node = NodeOptions(name);
    if (options.unequal != 0) Differ(i, &node);
    if (options.session_clients > 0) node.session_records = &session_records_;
    node.is_there = [this](const membership::Member& member) {
      return IsThere(member);
    };
    node.stored_view = [this] { return StoredView(); };
    nodes_.push_back(std::make_unique<SimNode>(world, &network_, &peers_, &log_,
                                               name, std::move(node)));
    peers_.nodes[name] = nodes_.back().get();
    if (i <= options.without_verbs) network_.Forbid("verbs", name);
  }
  SimClient::Options client;
  client.think = options.think;
  client.abandon_percent = options.abandon_percent;
  client.astray_percent = options.astray_percent;
  client.fresh_ids_percent = options.fresh_ids_percent;
  client.late_percent = options.late_percent;
  client.replica_percent = options.replica_percent;
  for (int i = 1; i <= options.clients; ++i) {
    clients_.push_back(std::make_unique<SimClient>(
        world, &network_, &peers_, &workload_, &log_, &history_, &sent_,
        absl::StrCat("c", i), client));
  }
  MakeSessionClients();
}

void Cluster::MakeSessionClients() {
  SessionClient::Options client;
  client.window = options_.session_window;
  client.think = options_.think / 2;
  client.astray_percent = options_.astray_percent;
  for (int i = 1; i <= options_.session_clients; ++i) {
    session_clients_.push_back(std::make_unique<SessionClient>(
        SessionClient::Surroundings{world_, &network_, &peers_, &workload_,
                                    &log_, &history_, &sent_,
                                    &session_records_},
        absl::StrCat("s", i), client));
  }
}

std::vector<std::string> Cluster::ClientNames() const {
  std::vector<std::string> names;
  for (const auto& client : clients_) names.push_back(client->name());
  for (const auto& client : session_clients_) names.push_back(client->name());
  return names;
}

void Cluster::StopClients() {
  for (const auto& client : clients_) client->Stop();
  for (const auto& client : session_clients_) client->Stop();
}

std::vector<std::string> Cluster::BusyClients() const {
  std::vector<std::string> busy;
  for (const auto& client : clients_) {
    if (client->idle()) continue;
    busy.push_back(absl::StrCat(client->name(), " (",
                                client->last_refusal().message(), ")"));
  }
  for (const auto& client : session_clients_) {
    if (!client->idle()) busy.push_back(client->name());
  }
  return busy;
}

SimNode::Options Cluster::NodeOptions(const std::string& name) const {
  SimNode::Options options;
  options.cluster_id = kClusterId;
  options.storage.cluster_id = kClusterId;
  options.storage.mode = options_.mode;
  options.storage.node_id = name;
  options.storage.heap_bytes = kHeapBytes;
  options.storage.ring_bytes = kRingBytes;
  options.storage.tiny_log_bytes = kLogBytes;
  options.storage.undo_copy = options_.undo_log ? UndoCopyKind::kLog
                              : options_.simple_undo_copy
                                  ? UndoCopyKind::kSimple
                                  : UndoCopyKind::kDynamic;
  options.storage.alpha = 0.5;
  options.storage.restart_limit = options_.restart_limit;
  options.node.restarts = options_.restarts;
  options.limit_is_lifted = options_.restart_limit_is_lifted;
  if (options_.restart_limit == 0) {
    options.node.restarts.first_delay = absl::ZeroDuration();
  }
  options.node.chain.hello_timeout = absl::Milliseconds(200);
  options.node.chain.window_entries = 64;
  options.node.chain.fetch_timeout = absl::Milliseconds(50);
  options.node.chain.window_chunks = 8;
  options.node.chain.ack_delay = options_.ack_delay;
  options.node.chain.chunks_at_once = 2;
  options.node.chain.cut_bytes = 16u << 10;
  options.node.chain.transfer_bytes_per_s = options_.transfer_bytes_per_s;
  options.node.chain.scrub_bytes_per_s = options_.scrub_bytes_per_s;
  options.node.chain.scrub_min_pass = options_.scrub_min_pass;
  options.node.chain.scrub_range_bytes = kScrubRangeBytes;
  options.node.chain.scrub_retry = absl::Milliseconds(150);
  options.cold = workload_.ColdValues();
  options.node.chain.retain = absl::Seconds(1);
  options.node.admission.max_in_flight = 16;
  // Within the patience of a run: when stored results fill their share of the
  // heap, requests are refused until some clients were silent for this long.
  options.node.admission.client_min_idle = absl::Seconds(20);
  if (options_.client_records > 0) {
    options.node.admission.max_clients = options_.client_records;
    options.node.admission.evict_at_once = options_.evict_at_once;
    options.node.admission.client_min_idle = absl::Milliseconds(100);
  }
  if (options_.verbs) {
    options.transports.push_back(
        {.name = "verbs", .needs_rendezvous = true, .one_sided = true});
  }
  options.transports.push_back({.name = "tcp"});
  if (options_.certificates) {
    options.node.links.knows_peers = true;
    options.node.links.transport.admit = AdmitNodes;
  }
  options.agent.cluster_id = kClusterId;
  for (const auto& manager : managers_) {
    options.agent.managers.push_back(manager->name());
  }
  options.agent.retry = absl::Milliseconds(30);
  options.agent.peer_lease_time = absl::Milliseconds(150);
  options.drains_all = options_.drains_all;
  options.pace = options_.pace;
  return options;
}

void Cluster::Differ(int number, SimNode::Options* options) const {
  constexpr int kManagers = 100;  // managers draw from the lower seeds
  Random random(options_.unequal + kManagers + number);
  const auto half_or_twice = [&random](auto value) {
    return random.OneIn(3) ? value : random.OneIn(2) ? value / 2 : value * 2;
  };
  const auto kind = !random.OneIn(2)  ? options->storage.undo_copy
                    : random.OneIn(2) ? UndoCopyKind::kSimple
                                      : UndoCopyKind::kDynamic;
  // Nodes that roll back locally must all use the same kind.
  if (!RollsBackAlone(options_.mode)) options->storage.undo_copy = kind;
  auto& chain = options->node.chain;
  chain.window_entries = half_or_twice(chain.window_entries);
  chain.window_chunks = half_or_twice(chain.window_chunks);
  chain.transfer_bytes_per_s = half_or_twice(chain.transfer_bytes_per_s);
  chain.scrub_bytes_per_s = half_or_twice(chain.scrub_bytes_per_s);
  chain.fetch_timeout = half_or_twice(chain.fetch_timeout);
  options->node.admission.max_in_flight =
      half_or_twice(options->node.admission.max_in_flight);
  options->pace.batch = half_or_twice(options->pace.batch);
  options->unequal = true;
  options->newer = random.OneIn(2);
}

void Cluster::Start() {
  for (const auto& manager : managers_) manager->Start();
  for (const auto& node : nodes_) node->Start();
  clients_.front()->Start(workload_.Setup());
  StartOthers();
}

void Cluster::StartOthers() {
  world_->After(kStartPoll, [this] {
    if (!clients_.front()->done_first()) return StartOthers();
    for (size_t i = 1; i < clients_.size(); ++i) {
      clients_[i]->Start(std::nullopt);
    }
    for (const auto& client : session_clients_) client->Start();
  });
}

bool Cluster::IsThere(const membership::Member& member) {
  const SimNode* const at = node(member.node_id);
  if (!at->up() || at->incarnation() != member.incarnation) return false;
  for (const auto& manager : managers_) {
    if (manager->Suspects(member.node_id)) return false;
  }
  const membership::View view = StoredView();
  return std::any_of(view.members.begin(), view.members.end(),
                     [&member](const membership::Member& each) {
                       return each.node_id == member.node_id &&
                              each.incarnation == member.incarnation;
                     });
}

membership::View Cluster::StoredView() const {
  return Parse(etcd_.Read(kViewKey).value);
}

uint64_t Cluster::StoredAcknowledged() const {
  kamino::internal::v1::RenewalRecord renewal;
  renewal.ParseFromString(etcd_.Read(kRenewalKey).value);
  return renewal.progress().acknowledged();
}

membership::View Cluster::LastView() const {
  return Parse(etcd_.LastWritten(kViewKey));
}

}  // namespace kamino::simulation
