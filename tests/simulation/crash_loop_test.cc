// Processes that end repeatedly: requests that end the process that executes
// them and that clients retry, and processes that do not live for long. The
// chain must not lose one node after another, and must continue to serve.
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "replica/errors.h"
#include "tests/faults/planted.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/cluster.h"
#include "tests/simulation/final_state.h"
#include "tests/simulation/model.h"

namespace kamino::simulation {
namespace {

using kamino::v1::Reason;

constexpr absl::Duration kLasts = absl::Seconds(12);
constexpr absl::Duration kLongOutage = absl::Seconds(2);
constexpr absl::Duration kProbationIsOver = absl::Seconds(6);
constexpr int kMembers = 4;
constexpr uint64_t kSeeds = 4;

ClusterOptions Options() {
  ClusterOptions options;
  options.nodes = kMembers;
  options.chain_length = kMembers;
  options.think = absl::Milliseconds(20);
  return options;
}

replica::Mutation CrashingRequest(uint64_t client_id) {
  replica::Mutation request;
  request.function = "test.poison";
  request.arguments = absl::StrCat(kHead, " poisoned value");
  request.client_id = client_id;
  request.number = 1;
  return request;
}

// One cluster and its faults.
class CrashRun {
 public:
  // A process that dies is started again after `supervised`.
  CrashRun(uint64_t seed, absl::Duration supervised,
           const ClusterOptions& options = Options())
      : world_(seed, nullptr), cluster_(&world_, options) {
    FLAGS_minloglevel = google::GLOG_FATAL;
    for (const auto& node : cluster_.nodes()) {
      node->set_supervisor_delay(supervised);
    }
    cluster_.Start();
    Run(absl::Seconds(2));
    CHECK(cluster_.clients().front()->done_first());
    began_ = world_.now();
  }

  void Run(absl::Duration time) { world_.RunUntil(world_.now() + time); }
  SimNode* Member(size_t index) {
    return cluster_.node(cluster_.StoredView().members.at(index).node_id);
  }
  void AddCrashing(const char* victim) {
    cluster_.workload().AddCrashing(victim);
  }
  void MakeImmune(bool immune) {
    for (const auto& node : cluster_.nodes()) node->set_immune(immune);
  }
  int Deaths() {
    int deaths = 0;
    for (const auto& node : cluster_.nodes()) {
      deaths += node->deaths_by_requests();
    }
    return deaths;
  }

  // Asks the current head until an answer tells the request's outcome.
  Reason Ask(const replica::Mutation& request) {
    const auto answer = std::make_shared<absl::Status>();
    for (int i = 0; i < 60; ++i) {
      *answer = absl::UnavailableError("");
      SimNode* const head = Member(0);
      if (head->up()) {
        head->Mutate(request, absl::Milliseconds(250),
                     [answer](const NodeAnswer& got) { *answer = got.status; });
      }
      Run(absl::Milliseconds(300));
      if (answer->ok()) return kamino::v1::REASON_UNSPECIFIED;
      const Reason reason = replica::ReasonOf(*answer);
      if (reason == kamino::v1::REASON_POISONOUS) return reason;
    }
    return kamino::v1::REASON_OUTCOME_UNKNOWN;
  }

  // Whether the head refuses that client's crashing request for good.
  bool Refuses(uint64_t client_id) {
    return Ask(CrashingRequest(client_id)) == kamino::v1::REASON_POISONOUS;
  }

  // The violated invariant; "" for none.
  std::string Judge(int most_deaths) {
    if (!world_.violation().ok()) return world_.violation().ToString();
    if (Deaths() > most_deaths) return absl::StrCat(Deaths(), " have died");
    const absl::Duration outage =
        LongestOutage(cluster_.history(), began_, world_.now());
    if (outage > kLongOutage) {
      return absl::StrCat("nothing was acknowledged for ",
                          absl::FormatDuration(outage));
    }
    return "";
  }

  // The same once clients are done.
  std::string JudgeTheEnd() {
    for (const auto& client : cluster_.clients()) client->Stop();
    Run(absl::Seconds(2));
    for (const auto& client : cluster_.clients()) {
      if (!client->idle()) return "a client waits for its answer";
    }
    absl::Status status = CheckAtRest(&cluster_);
    Model model;
    if (status.ok()) {
      status = CheckAgainstLog(cluster_.history(), cluster_.log(),
                               cluster_.sent(), cluster_.max_clients(), &model);
    }
    if (status.ok()) status = CheckHeaps(&cluster_, model);
    return status.ok() ? "" : status.ToString();
  }
  // Both.
  std::string JudgeAll(int most_deaths) {
    std::string wrong = Judge(most_deaths);
    return wrong.empty() ? JudgeTheEnd() : wrong;
  }

 private:
  World world_;
  Cluster cluster_;
  absl::Time began_;
};

// The violated invariant, with the seed; "" when all hold.
using Judgement = std::function<std::string(uint64_t seed)>;
std::string FirstWrong(const Judgement& judge) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string wrong = judge(seed);
    if (!wrong.empty()) return absl::StrCat("seed ", seed, ": ", wrong);
  }
  return "";
}

// A client sends a request that ends `victim`, and may cost that many lives. A
// process that dies is started again after `supervised`.
struct Kill {
  const char* name;
  const char* victim;
  absl::Duration supervised;
  int most_deaths;
};

constexpr Kill kOfHeads = {"AHead", kHead, absl::InfiniteDuration(), 2};
constexpr Kill kOfAReplica = {"AReplica", kReplica, absl::InfiniteDuration(),
                              1};

std::string AfterCrashes(const Kill& kill) {
  return FirstWrong([&](uint64_t seed) -> std::string {
    CrashRun run(seed, kill.supervised);
    run.AddCrashing(kill.victim);
    run.Run(kLasts);
    if (run.Deaths() == 0) return "no node died";
    return run.JudgeAll(kill.most_deaths);
  });
}

// Heads die without a warning, one after the other. When a replica dies, the
// others take over its log entry.
class KillingRequestTest : public ::testing::TestWithParam<Kill> {};

TEST_P(KillingRequestTest, IsQuarantined) {
  EXPECT_EQ(AfterCrashes(GetParam()), "");
}

INSTANTIATE_TEST_SUITE_P(
    Kills, KillingRequestTest,
    ::testing::Values(
        kOfHeads,
        Kill{"AHeadThatKeepsItsPlace", kHead, absl::Milliseconds(50), 2},
        Kill{"AHeadThatJoinsAgain", kHead, absl::Milliseconds(900), 2},
        kOfAReplica,
        Kill{"AReplicaThatKeepsItsPlace", kReplica, absl::Milliseconds(50), 1},
        Kill{"AReplicaThatJoinsAgain", kReplica, absl::Milliseconds(900), 1}),
    [](const auto& info) { return std::string(info.param.name); });

// Two heads die, and the third for another reason. The fourth is alone.
std::string AfterTheThirdHead(uint64_t seed) {
  CrashRun run(seed, absl::InfiniteDuration());
  if (!run.Refuses(7)) return "it is not refused";
  run.Member(0)->Die(Crash::kProcess);
  run.Run(absl::Seconds(1));
  if (!run.Refuses(7)) return "it is refused no more";
  return run.Judge(2);
}

TEST(QuarantineOfRequestsTest, LaterHeadsKnowAQuarantinedRequest) {
  EXPECT_EQ(FirstWrong(AfterTheThirdHead), "");
}

// The node is alone, and has no successor to tell.
std::string AtAChainOfOne(uint64_t seed) {
  CrashRun run(seed, absl::Milliseconds(50));
  for (size_t i = kMembers; i > 1; --i) {
    run.Member(i - 1)->Die(Crash::kProcess);
    run.Run(absl::Seconds(1));
  }
  if (!run.Refuses(7)) return "it is not refused";
  return run.Judge(2);
}

TEST(QuarantineOfRequestsTest, ASingleNodeQuarantinesARequest) {
  EXPECT_EQ(FirstWrong(AtAChainOfOne), "");
}

// The same bytes in another request cost one more life, then none.
std::string UnderOtherNames(uint64_t seed) {
  CrashRun run(seed, absl::Milliseconds(50));
  for (uint64_t client_id = 7; client_id < 12; ++client_id) {
    if (!run.Refuses(client_id)) return "one is not refused";
    run.Run(kProbationIsOver);
  }
  return run.Judge(3);
}

TEST(QuarantineOfRequestsTest, QuarantinedBytesAreKnownFromOtherClients) {
  EXPECT_EQ(FirstWrong(UnderOtherNames), "");
}

// A head may die of something else while it executes a request. That loses one
// call, and does not quarantine the request.
std::string ByCoincidence(uint64_t seed) {
  CrashRun run(seed, absl::Milliseconds(50));
  for (uint64_t client_id = 7; client_id < 15; client_id += 2) {
    run.MakeImmune(false);
    if (!run.Refuses(client_id)) return "one is not refused";
    run.Run(kProbationIsOver);
    run.MakeImmune(true);
    const Reason reason = run.Ask(CrashingRequest(client_id + 1));
    if (reason != kamino::v1::REASON_UNSPECIFIED) {
      return absl::StrCat("others of its bytes are refused after ", client_id);
    }
    if (!run.Refuses(client_id)) return "it is refused no more";
  }
  return run.Judge(8);
}

TEST(QuarantineOfRequestsTest, HarmlessBytesAreClearedFromQuarantine) {
  EXPECT_EQ(FirstWrong(ByCoincidence), "");
}

// The head parts when its successor dies of a log entry. The successor returns
// as the head and executes the entry again. The client has no answer yet and
// sends the request again, which ends the next head.
std::string AtTheNewHead(uint64_t seed) {
  CrashRun run(seed, absl::Milliseconds(50));
  SimNode* const head = run.Member(0);
  run.AddCrashing(kReplica);
  for (int i = 0; i < 5000 && run.Deaths() == 0; ++i) {
    run.Run(absl::Microseconds(200));
  }
  if (run.Deaths() == 0) return "no node died";
  head->Die(Crash::kProcess);
  run.Run(absl::Seconds(5));
  head->Start();
  run.Run(kLasts);
  return run.JudgeAll(3);
}

TEST(QuarantineOfRequestsTest,
     AnEntryThatKillsAnInterruptedNewHeadIsQuarantined) {
  EXPECT_EQ(FirstWrong(AtTheNewHead), "");
}

// --- Processes that do not live for long.

constexpr uint32_t kRestartLimit = 6;

// Each process of a member lives for that long; the node may restart that
// often.
std::string AmongShortLives(absl::Duration life, bool stays_down) {
  return FirstWrong([&](uint64_t seed) -> std::string {
    ClusterOptions options = Options();
    options.restart_limit = kRestartLimit;
    options.restarts.first_delay = absl::Milliseconds(200);
    options.restarts.most_delay = absl::Seconds(1);
    options.restarts.long_life = absl::Seconds(1);
    CrashRun run(seed, absl::Milliseconds(100), options);
    SimNode* const node = run.Member(1);
    const int before = node->starts();
    node->set_life(life);
    node->Die(Crash::kProcess);
    node->Start();
    run.Run(absl::Seconds(20));
    const int starts = node->starts() - before;
    if (node->stays_down() != stays_down) {
      return absl::StrCat("after ", starts, " starts it ",
                          stays_down ? "goes on" : "stays down");
    }
    if (stays_down && starts > static_cast<int>(kRestartLimit) + 1) {
      return absl::StrCat("it started ", starts, " times");
    }
    if (!stays_down && starts <= static_cast<int>(kRestartLimit)) {
      return absl::StrCat("it started ", starts, " times only");
    }
    return run.Judge(0);
  });
}

TEST(RestartTest, ANodeThatDiesRepeatedlyStaysDown) {
  EXPECT_EQ(AmongShortLives(absl::Milliseconds(300), /*stays_down=*/true), "");
}

TEST(RestartTest, ANodeThatLivesLongComesBack) {
  EXPECT_EQ(AmongShortLives(absl::Milliseconds(1200), /*stays_down=*/false),
            "");
}

// The power of the node's machine fails repeatedly, which does not count
// against the node.
std::string AmongPowerCuts(uint64_t seed) {
  ClusterOptions options = Options();
  options.restart_limit = kRestartLimit;
  CrashRun run(seed, absl::Milliseconds(100), options);
  SimNode* const node = run.Member(1);
  uint32_t cuts = 0;
  for (; cuts < kRestartLimit + 2 && node->up(); ++cuts) {
    node->Die(Crash::kPower);
    node->Start();
    run.Run(absl::Milliseconds(300));
  }
  if (node->stays_down()) return "it stays down";
  if (cuts < kRestartLimit + 2) return "it is not up";
  run.Run(absl::Seconds(5));
  return run.Judge(0);
}

TEST(RestartTest, PowerCutsDoNotCountAsDeaths) {
  EXPECT_EQ(FirstWrong(AmongPowerCuts), "");
}

// --- Planted faults.

struct Mistake {
  const char* name;
  const char* fault;
  std::string (*judge)();
};

class OldMistakeTest : public ::testing::TestWithParam<Mistake> {};

TEST_P(OldMistakeTest, IsDetected) {
  const faults::Planted fault(GetParam().fault);
  EXPECT_NE(GetParam().judge(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, OldMistakeTest,
    ::testing::Values(
        Mistake{"NoProbation", "head-is-never-on-probation",
                [] { return AfterCrashes(kOfHeads); }},
        Mistake{"QuarantineOfOneHead", "head-keeps-quarantine-to-itself",
                [] { return FirstWrong(AfterTheThirdHead); }},
        Mistake{"NothingCleared", "head-clears-nothing",
                [] { return FirstWrong(ByCoincidence); }},
        Mistake{"QuarantinedEntriesExecuted",
                "chain-executes-quarantined-entries",
                [] { return AfterCrashes(kOfAReplica); }},
        Mistake{"ExecutionsForEver", "chain-executes-again-for-ever",
                [] { return FirstWrong(AtTheNewHead); }},
        Mistake{"AnyRestarts", "storage-opens-after-any-restarts",
                [] { return AmongShortLives(absl::Milliseconds(300), true); }},
        Mistake{"PowerCutsCounted", "storage-counts-power-cuts",
                [] { return FirstWrong(AmongPowerCuts); }}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kamino::simulation
