// Old copies of the data of all nodes, and managers that remember nothing;
// mutations that a head had not sent when it was dropped; recoveries by force.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tests/faults/fault.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/cluster.h"
#include "tests/simulation/final_state.h"
#include "tests/simulation/model.h"

namespace kamino::simulation {
namespace {

constexpr int kMembers = 4;
constexpr uint64_t kSeeds = 3;
using Copies = std::map<std::string, SimNode::Copy>;

ClusterOptions Options() {
  ClusterOptions options;
  options.nodes = kMembers;
  options.chain_length = kMembers;
  options.think = absl::Milliseconds(20);
  return options;
}

class StaleRun {
 public:
  explicit StaleRun(uint64_t seed)
      : world_(seed, nullptr), cluster_(&world_, Options()) {
    FLAGS_minloglevel = google::GLOG_FATAL;
    cluster_.Start();
    Run(absl::Seconds(2));
    CHECK(cluster_.clients().front()->done_first());
  }

  Cluster& cluster() { return cluster_; }
  void Run(absl::Duration time) { world_.RunUntil(world_.now() + time); }
  SimNode* Member(size_t index) {
    return cluster_.node(cluster_.StoredView().members.at(index).node_id);
  }
  Copies TakeCopies() {
    Copies copies;
    for (const auto& node : cluster_.nodes()) {
      copies.emplace(node->name(), node->TakeCopy());
    }
    return copies;
  }
  // Kills every process; returns what the nodes then held.
  Copies KillAll() {
    Copies copies;
    for (const auto& manager : cluster_.managers()) manager->Kill();
    for (const auto& node : cluster_.nodes()) {
      node->Die(Crash::kProcess);
      copies.emplace(node->name(), node->TakeCopyOfDisk());
    }
    return copies;
  }
  void StartAll(const Copies& copies) {
    for (const auto& manager : cluster_.managers()) manager->Start();
    for (const auto& node : cluster_.nodes()) {
      node->PutBack(copies.at(node->name()));
      node->Start();
    }
  }
  void PutBack(SimNode* node, const SimNode::Copy& copy) {
    node->Die(Crash::kProcess);
    node->PutBack(copy);
    node->Start();
  }
  std::string WhyWaits() {
    for (const auto& manager : cluster_.managers()) {
      if (manager->leads()) return manager->WhyWaits();
    }
    return "";
  }
  size_t Acknowledged() {
    size_t count = 0;
    for (const Record& record : cluster_.history()) {
      count += record.end == Record::End::kDone;
    }
    return count;
  }
  // By force; drops what came after.
  bool Recover() {
    const uint64_t before = cluster_.StoredView().id;
    for (int i = 0; i < 100 && cluster_.StoredView().id == before; ++i) {
      for (const auto& manager : cluster_.managers()) manager->Recover(true);
      Run(absl::Milliseconds(50));
    }
    const membership::View view = cluster_.StoredView();
    if (view.recovered_at.empty()) return view.id > before;
    cluster_.log().CutAfter(view.recovered_at.begin()->second);
    return true;
  }
  // Mutations of no client, at a node that no other node hears.
  void Unsent(SimNode* head, int count) {
    head->set_immune(true);
    for (int i = 0; i < count; ++i) {
      replica::Mutation request;
      request.client_id = 1000 + static_cast<uint64_t>(i);
      request.number = 1;
      request.function = "test.poison";
      request.arguments = absl::StrCat(kReplica, " unsent", i, " lost");
      head->Mutate(request, absl::Milliseconds(250), [](const NodeAnswer&) {});
      Run(absl::Milliseconds(5));
    }
  }
  void CutOff(const std::string& name, bool heal) {
    for (const auto& other : cluster_.nodes()) {
      if (other->name() == name) continue;
      Change(name, other->name(), heal);
    }
    for (const auto& manager : cluster_.managers()) {
      Change(name, manager->name(), heal);
    }
    for (const auto& client : cluster_.clients()) {
      Change(name, client->name(), heal);
    }
  }
  void StopClients() {
    for (const auto& client : cluster_.clients()) client->Stop();
    Run(absl::Seconds(2));
  }

  // "" when all invariants hold at the end, with all nodes in the chain.
  std::string JudgeTheEnd(bool by_log) {
    StopClients();
    Run(absl::Seconds(3));
    if (!world_.violation().ok()) return world_.violation().ToString();
    for (const auto& client : cluster_.clients()) {
      if (!client->idle()) return "a client waits for its answer";
    }
    const size_t members = cluster_.StoredView().members.size();
    if (members != kMembers) return absl::StrCat(members, " are in the chain");
    absl::Status status = CheckAtRest(&cluster_);
    if (status.ok()) status = CheckAlike(&cluster_);
    Model model;
    if (status.ok() && by_log) {
      status = CheckAgainstLog(cluster_.history(), cluster_.log(),
                               cluster_.sent(), cluster_.max_clients(), &model);
    }
    return status.ok() ? "" : status.ToString();
  }

 private:
  void Change(const std::string& a, const std::string& b, bool heal) {
    if (heal) {
      cluster_.network().Heal(a, b);
      cluster_.network().Heal(b, a);
    } else {
      cluster_.network().Cut(a, b);
      cluster_.network().Cut(b, a);
    }
  }

  World world_;
  Cluster cluster_;
};

using Story = std::string(uint64_t seed);
std::string FirstWrong(Story* story) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string wrong = story(seed);
    if (!wrong.empty()) return absl::StrCat("seed ", seed, ": ", wrong);
  }
  return "";
}

// No node serves, and the manager says why; then newer files are put back.
std::string AllWait(uint64_t seed) {
  StaleRun run(seed);
  const Copies old = run.TakeCopies();
  run.Run(absl::Milliseconds(1500));
  const Copies newest = run.KillAll();
  const size_t acknowledged = run.Acknowledged();
  run.StartAll(old);
  run.Run(absl::Seconds(4));
  if (run.Acknowledged() > acknowledged) return "a node serves";
  const std::string why = run.WhyWaits();
  if (!absl::StrContains(why, "the chain waits for newer files")) {
    return absl::StrCat("no manager says why: ", why);
  }
  for (size_t i = 0; i < 2; ++i) {
    SimNode* const node = run.Member(i + seed % 3);
    run.PutBack(node, newest.at(node->name()));
  }
  run.Run(absl::Seconds(8));
  if (run.Acknowledged() == acknowledged) return "no node serves again";
  return run.JudgeTheEnd(/*by_log=*/true);
}

TEST(StaleAllTest, NodesWaitUntilNewerFilesAreRestored) {
  EXPECT_EQ(FirstWrong(AllWait), "");
}

// The head continues alone and is dropped; it returns with more than others.
std::string DroppedHeadReturns(uint64_t seed) {
  StaleRun run(seed);
  SimNode* const head = run.Member(0);
  run.CutOff(head->name(), /*heal=*/false);
  run.Unsent(head, 6);
  if (seed % 2 == 0) head->Die(Crash::kProcess);
  run.Run(absl::Seconds(1));
  run.CutOff(head->name(), /*heal=*/true);
  if (!head->up()) head->Start();
  run.Run(absl::Seconds(6));
  return run.JudgeTheEnd(/*by_log=*/true);
}

TEST(StaleAllTest, UnsentMutationsOfADroppedHeadAreLost) {
  EXPECT_EQ(FirstWrong(DroppedHeadReturns), "");
}

// The same, and once it has joined anew, its earlier files are put back: by
// numbers alone they hold everything.
std::string FilesOfBefore(uint64_t seed) {
  StaleRun run(seed);
  SimNode* const head = run.Member(0);
  run.CutOff(head->name(), /*heal=*/false);
  run.StopClients();
  run.Unsent(head, 12);
  head->Die(Crash::kProcess);
  const SimNode::Copy before = head->TakeCopyOfDisk();
  run.CutOff(head->name(), /*heal=*/true);
  run.Run(absl::Seconds(1));
  head->Start();
  run.Run(absl::Seconds(4));
  if (run.cluster().StoredView().members.size() != kMembers) {
    return "it has not joined";
  }
  run.PutBack(head, before);
  run.Run(absl::Seconds(6));
  return run.JudgeTheEnd(/*by_log=*/true);
}

TEST(StaleAllTest, FilesFromBeforeANodeJoinedAgainDoNotCount) {
  EXPECT_EQ(FirstWrong(FilesOfBefore), "");
}

// All have old copies, and an operator has the chain continue with them.
std::string Recovered(uint64_t seed) {
  StaleRun run(seed);
  const Copies old = run.TakeCopies();
  run.Run(absl::Milliseconds(1500));
  const Copies newest = run.KillAll();
  run.StartAll(old);
  run.Run(absl::Seconds(3));
  const size_t acknowledged = run.Acknowledged();
  if (!run.Recover()) return "it is not recovered";
  run.Run(absl::Seconds(4));
  if (run.Acknowledged() == acknowledged) return "no node serves again";
  // The lost data returns too late.
  SimNode* const node = run.Member(0);
  run.PutBack(node, newest.at(node->name()));
  run.Run(absl::Seconds(8));
  return run.JudgeTheEnd(/*by_log=*/false);
}

TEST(StaleAllTest, AForcedRecoveryContinuesFromOldCopies) {
  EXPECT_EQ(FirstWrong(Recovered), "");
}

TEST(StaleAllTest, OldMistakesAreDetected) {
  const std::vector<std::pair<const char*, Story*>> mistakes = {
      {"membership-forgets-progress", AllWait},
      {"storage-keeps-its-heap-id", FilesOfBefore},
  };
  for (const auto& [fault, story] : mistakes) {
    faults::PlantFault(fault);
    EXPECT_NE(FirstWrong(story), "") << fault;
  }
  faults::PlantFault("");
}

}  // namespace
}  // namespace kamino::simulation
