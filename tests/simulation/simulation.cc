#include "tests/simulation/simulation.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/client_view_checker.h"
#include "tests/simulation/cluster.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/final_state.h"
#include "tests/simulation/model.h"
#include "tests/simulation/replica_read_checker.h"
#include "tests/simulation/strangers.h"
#include "tests/simulation/version_checker.h"

namespace kamino::simulation {
namespace {

constexpr absl::Duration kStep = absl::Milliseconds(50);
// How long the chain may take to serve, and clients to be done, when no more
// faults strike.
constexpr absl::Duration kPatience = absl::Seconds(30);
// Between the last fault and the last operation.
constexpr absl::Duration kRest = absl::Milliseconds(700);

Scenario DrawScenario(Random* random) {
  const uint64_t drawn = random->Pick(100);
  return drawn < 20   ? Scenario::kStaleEnds
         : drawn < 35 ? Scenario::kShortChain
         : drawn < 43 ? Scenario::kOldCopies
         : drawn < 51 ? Scenario::kLeaders
         : drawn < 57 ? Scenario::kOldStore
         : drawn < 61 ? Scenario::kAllOld
                      : Scenario::kAny;
}

ClusterOptions DrawCluster(Scenario scenario, Random* random) {
  ClusterOptions options;
  options.chain_length = 3 + static_cast<int>(random->Pick(3));
  options.nodes = options.chain_length + static_cast<int>(random->Pick(2));
  options.managers = 1 + static_cast<int>(random->Pick(3));
  options.clients = 2 + static_cast<int>(random->Pick(5));
  options.think =
      random->Between(absl::Milliseconds(20), absl::Milliseconds(200));
  options.abandon_percent = random->OneIn(3) ? 20 : 0;
  options.astray_percent = random->OneIn(3) ? 25 : 2;
  options.simple_undo_copy = random->OneIn(3);
  options.drains_all = !random->OneIn(4);
  if (random->OneIn(3)) {
    options.client_records = options.clients + 1 + random->Pick(3);
    options.evict_at_once = 1 + random->Pick(3);
    options.fresh_ids_percent = 30;
  }
  options.late_percent = random->OneIn(2) ? 15 : 0;
  options.ballast_bytes = random->OneIn(4) ? 60000 : 0;
  options.conditional_percent = random->OneIn(4) ? 30 : 0;
  if (random->OneIn(4)) {
    options.manager_distance =
        random->Between(absl::ZeroDuration(), absl::Milliseconds(35));
  }
  bool busy = random->OneIn(4);
  switch (scenario) {
    case Scenario::kAny:
      break;
    case Scenario::kStaleEnds:
      options.astray_percent = 40;
      options.conditional_percent = 70;
      options.think = options.think / 4;
      if (random->OneIn(2)) options.manager_distance = absl::Milliseconds(35);
      break;
    case Scenario::kShortChain:
      options.chain_length = 2;
      options.nodes = 2 + static_cast<int>(random->Pick(2));
      options.think = options.think / 4;
      if (options.ballast_bytes == 0) options.ballast_bytes = 6000;
      busy = true;
      break;
    case Scenario::kOldCopies:
      options.think = options.think / 8;
      break;
    case Scenario::kAllOld:
    case Scenario::kOldStore:
      break;
    case Scenario::kLeaders:
      options.managers = 2 + static_cast<int>(random->Pick(2));
      options.astray_percent = 40;
      options.conditional_percent = 70;
      options.think = options.think / 4;
  }
  if (random->OneIn(2)) {
    // As a node's are, except that time is short here.
    options.restart_limit = 3 + static_cast<uint32_t>(random->Pick(7));
    options.restarts.first_delay = absl::Milliseconds(100);
    options.restarts.most_delay = absl::Seconds(2);
    options.restarts.long_life = absl::Milliseconds(1500);
    options.restart_limit_is_lifted = true;
  }
  if (random->OneIn(3)) options.unequal = random->Next() | 1;
  if (busy) {
    options.pace.batch =
        random->Between(absl::Microseconds(60), absl::Milliseconds(5));
    options.pace.propagation_step = 1 + random->Pick(4);
    options.pace.backup_rests_percent = 50 + random->Pick(46);
  }
  if (random->OneIn(5)) {
    options.transfer_bytes_per_s = 100000 + random->Pick(1000000);
  }
  if (random->OneIn(3)) options.link_credits = 1000 + random->Pick(30000);
  if (!random->OneIn(4)) {
    options.scrub_bytes_per_s = 200000 + random->Pick(600000);
    if (random->OneIn(2)) {
      options.scrub_min_pass =
          random->Between(absl::Milliseconds(500), absl::Seconds(4));
    }
  }
  options.verbs = random->OneIn(2);
  if (options.verbs && random->OneIn(4)) options.without_verbs = 1;
  return options;
}

// --- Drawn from streams of their own, so that they do not change other runs.

uint64_t DrawReplicaReads(uint64_t seed) {
  Random random(~seed);
  return random.OneIn(2) ? 20 + random.Pick(80) : 0;
}

void DrawSessions(uint64_t seed, ClusterOptions* options) {
  Random random(seed ^ 0x5e5510u);
  if (!random.OneIn(3)) return;
  options->session_clients = 1 + static_cast<int>(random.Pick(2));
  options->session_window = 2 + static_cast<uint32_t>(random.Pick(7));
}

// Clients that use ever new ids leave outcomes, until the heap is full.
void DrawHoard(uint64_t seed, ClusterOptions* options) {
  Random random(seed ^ 0x40a4du);
  if (!random.OneIn(6)) return;
  options->hoard_percent = 30 + random.Pick(40);
  options->ballast_bytes = 60000;
  options->fresh_ids_percent = 50;
  if (random.OneIn(2)) options->client_records = 0;
}

// For nodes that roll back locally.
void DrawUndo(uint64_t seed, ClusterOptions* options) {
  Random random(seed ^ 0x04d0u);
  options->undo_log = random.OneIn(2);
}

absl::Duration DrawAckDelay(uint64_t seed) {
  Random random(seed ^ 0xacdeu);
  return random.OneIn(3)
             ? absl::ZeroDuration()
             : random.Between(absl::ZeroDuration(), absl::Milliseconds(40));
}

absl::Duration DrawHeldCalls(uint64_t seed) {
  Random random(seed ^ 0x4e1dca11u);
  return random.OneIn(3)
             ? random.Between(absl::Milliseconds(50), absl::Milliseconds(1500))
             : absl::ZeroDuration();
}

bool DrawCertificates(uint64_t seed) { return Random(seed ^ 0xce27u).OneIn(2); }

bool DrawStrangers(uint64_t seed) { return Random(seed ^ 0x57a9u).OneIn(2); }

ClusterOptions DrawCluster(Scenario scenario, uint64_t seed, ChainMode mode,
                           Random* random) {
  ClusterOptions options = DrawCluster(scenario, random);
  options.mode = mode;
  options.most_held = DrawHeldCalls(seed);
  if (mode == ChainMode::kTraditional) DrawUndo(seed, &options);
  options.replica_percent = DrawReplicaReads(seed);
  DrawSessions(seed, &options);
  DrawHoard(seed, &options);
  options.ack_delay = DrawAckDelay(seed);
  options.certificates = DrawCertificates(seed);
  return options;
}

class Simulation {
 public:
  Simulation(uint64_t seed, std::FILE* trace, ChainMode mode)
      : world_(seed, trace),
        scenario_(DrawScenario(&world_.random())),
        plan_(FaultPlan::Draw(scenario_, &world_.random())),
        cluster_(&world_, DrawCluster(scenario_, seed, mode, &world_.random())),
        faults_(&cluster_, plan_),
        strangers_(&cluster_, seed ^ 0x57a93u),
        has_strangers_(DrawStrangers(seed)) {}

  RunResult Run() {
    cluster_.Start();
    absl::Status status = WaitFor("the chain serves", [this] {
      return cluster_.clients().front()->done_first();
    });
    if (status.ok()) {
      faults_.Start();
      if (has_strangers_) strangers_.Start();
      world_.RunUntil(world_.now() + world_.random().Between(absl::Seconds(2),
                                                             absl::Seconds(7)));
      faults_.Stop();
      strangers_.Stop();
      world_.RunUntil(world_.now() + kRest);
      cluster_.StopClients();
      status = WaitForClients();
      if (status.ok()) {
        status = WaitFor("bits that changed are found",
                         [this] { return !faults_.AnyNodeDecays(); });
      }
      if (status.ok()) status = WaitUntilWhole();
      if (status.ok()) status = WaitForSessions();
      if (status.ok()) status = WaitForRest();
    }
    if (status.ok()) status = Check();
    return Result(std::move(status));
  }

 private:
  template <typename Condition>
  absl::Status WaitFor(const char* what, const Condition& condition) {
    const absl::Time deadline = world_.now() + kPatience;
    while (!condition() && world_.violation().ok()) {
      if (world_.now() >= deadline) {
        return absl::DeadlineExceededError(absl::StrCat(
            "not within ", absl::FormatDuration(kPatience),
            " without faults: ", what, "; ", cluster_.StoredView().ToString()));
      }
      world_.RunUntil(world_.now() + kStep);
    }
    return world_.violation();
  }

  absl::Status WaitForClients() {
    absl::Status status = WaitFor("all clients are done",
                                  [this] { return cluster_.ClientsAreIdle(); });
    if (!absl::IsDeadlineExceeded(status)) return status;
    return absl::DeadlineExceededError(
        absl::StrCat(status.message(),
                     "; busy: ", absl::StrJoin(cluster_.BusyClients(), ", ")));
  }

  // Every node that returns at all is back, and none is kept out for ever.
  absl::Status WaitUntilWhole() {
    if (!plan_.restarts) return absl::OkStatus();
    const size_t length = static_cast<size_t>(cluster_.options().chain_length);
    return WaitFor("the chain is whole again", [this, length] {
      // One more, where a drain was cancelled after another node had joined.
      return cluster_.StoredView().members.size() >= length && faults_.over();
    });
  }

  // No client sends a request in a session any more.
  absl::Status WaitForSessions() {
    if (cluster_.options().session_clients == 0) return absl::OkStatus();
    return WaitFor("silent sessions are closed", [this] {
      const auto& members = cluster_.StoredView().members;
      SimNode* const head = cluster_.node(members.front().node_id);
      if (!head->up()) return false;
      const auto stats = head->node()->head().admission_stats();
      return stats.has_value() && stats->sessions == 0;
    });
  }

  // Waits until nothing is in flight and nothing is left over anywhere,
  // including corrupt bits that a joining node may have received from a member
  // expelled meanwhile.
  absl::Status WaitForRest() {
    absl::Status left;
    absl::Status reached = WaitFor("the chain is at rest", [this, &left] {
      left = faults_.AnyNodeDecays()
                 ? absl::InternalError("bits that changed are not found")
                 : CheckAtRest(&cluster_);
      return left.ok();
    });
    return world_.violation().ok() && !reached.ok() ? left : reached;
  }

  absl::Status Check() {
    if (!world_.violation().ok()) return world_.violation();
    Model model;
    model.set_last_epoch(cluster_.StoredView().epoch);
    absl::Status status = CheckVersions(cluster_.history());
    if (!status.ok()) return status;
    status = CheckAgainstLog(cluster_.history(), cluster_.log(),
                             cluster_.sent(), cluster_.max_clients(), &model);
    if (status.ok()) {
      status = CheckReplicaReads(cluster_.history(), cluster_.log());
    }
    if (status.ok()) {
      status = cluster_.session_records().Check(cluster_.log(),
                                                cluster_.StoredView().epoch);
    }
    const Workload& workload = cluster_.workload();
    if (status.ok()) {
      status = CheckHeaps(&cluster_, model,
                          faults_.only_decayed_are_left()
                              ? workload.ColdKeys()
                              : std::vector<std::string>());
    }
    if (status.ok() && !faults_.only_decayed_are_left()) {
      status = CheckBytes(&cluster_);
    }
    if (status.ok()) {
      status = CheckLists(cluster_.history(),
                          ReadFinal(&cluster_, workload.ListKeys()));
    }
    if (status.ok()) {
      const auto accounts = workload.AccountKeys();
      status = CheckAccounts(
          cluster_.history(), accounts,
          Workload::kBalance * static_cast<int64_t>(accounts.size()));
    }
    return status;
  }

  RunResult Result(absl::Status status) {
    RunResult result;
    result.violation = std::move(status);
    result.simulated = world_.now() - absl::UnixEpoch();
    result.digest = world_.trace().digest();
    result.events = world_.events();
    result.faults = faults_.struck();
    result.tally = world_.tally();
    result.views = cluster_.StoredView().id;
    for (const Record& record : cluster_.history()) {
      if (record.end == Record::End::kUnknown) continue;
      ++result.operations;
      if (!record.is_read && record.end == Record::End::kDone) {
        ++result.acknowledged;
      }
    }
    return result;
  }

  World world_;
  const Scenario scenario_;
  const FaultPlan plan_;
  Cluster cluster_;
  Faults faults_;
  Strangers strangers_;
  const bool has_strangers_;
};

}  // namespace

RunResult RunSeed(uint64_t seed, std::FILE* trace, ChainMode mode) {
  return Simulation(seed, trace, mode).Run();
}

}  // namespace kamino::simulation
