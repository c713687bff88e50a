// The simulator notices every planted fault of the protocol, and nothing when
// there is none.
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/chain_mode.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tests/faults/fault.h"
#include "tests/faults/trial.h"
#include "tests/simulation/simulation.h"

namespace kamino::simulation {
namespace {

constexpr uint64_t kMany = 20000;  // seeds
constexpr uint64_t kSeedsToMeet = 1000;

const char* const kFaults[] = {
    // The faults that take longest, each in a shard of its own.
    "joining-cut-without-settling",
    "chain-ignores-numbers-of-views",
    "membership-leases-from-the-answer",
    // The other faults.
    "chain-applied-is-not-durable",
    "chain-trusts-a-returning-node",
    "chain-cleans-up-what-is-received",
    "chain-compares-no-images",
    "chain-completes-what-is-received",
    "chain-links-outlive-their-view",
    "chain-resends-nothing",
    "chain-stops-at-stale-successor",
    "chain-takes-messages-of-old-views",
    "chain-torn-counts-as-applied",
    "changes-begin-too-late",
    "changes-ignore-history",
    "changes-keep-what-others-lack",
    "changes-lack-a-page",
    "changes-without-blocks",
    "clean-reads-look-at-the-last-object",
    "clean-reads-look-at-values-alone",
    "clean-reads-take-applied-for-clean",
    "clean-reads-without-lease",
    "divergence-believes-the-head",
    "entry-checksums-are-ignored",
    "evicted-retry-executes",
    "head-answers-at-commit",
    "head-answers-without-lease",
    "head-counts-clients-once",
    "head-keeps-no-reserve",
    "head-keeps-what-met-a-lock",
    "head-refuses-what-frees-room",
    "head-unlocks-at-commit",
    "joining-copies-pages-once",
    "joining-ignores-checksums",
    "joining-keeps-what-is-torn",
    "links-bad-entry-ends-the-node",
    "links-drop-what-has-no-credits",
    "links-end-without-a-word",
    "links-forget-what-waits",
    "links-identity-is-not-compared",
    "links-let-messages-overtake",
    "links-never-try-another-transport",
    "links-accepted-before-authentication",
    "media-get-a-stamp-unannounced",
    "media-of-any-age",
    "media-of-any-age-within-a-start",
    "membership-acts-while-its-peer-lease-is-valid",
    "membership-clocks-stop-in-sleep",
    "membership-forgets-progress",
    "membership-hears-what-was-overtaken",
    "membership-leads-by-keep-alives",
    "membership-leads-too-long",
    "membership-leases-too-long",
    "membership-old-store-goes-unseen",
    "membership-one-peer-lease-is-enough",
    "membership-recovers-below-what-is-known",
    "repair-rolls-nothing-back",
    "repair-of-a-part-of-the-write-set",
    "outcome-does-not-stop-a-retry",
    "outcome-result-is-not-stored",
    "outcome-unknown-is-not-committed",
    "reads-anywhere",
    "reads-at-a-tail-that-is-behind",
    "reads-without-lease",
    "ring-entry-is-not-drained",
    "scrub-agreed-outlives-writes",
    "scrub-compares-at-another-position",
    "scrub-is-never-due",
    "session-answers-from-another-slot",
    "session-asked-for-without-a-lease",
    "session-closed-by-an-old-look",
    "session-executes-a-number-again",
    "session-goes-on-though-closed",
    "session-new-head-cuts-leases",
    "session-slot-reused-without-its-turn",
    "session-void-is-not-replicated",
    "storage-counts-what-was-rolled-back",
    "versions-shared-in-a-batch",
    "view-led-by-stale-member",
};

// Faults of chains in the other modes.
struct FaultOfMode {
  ChainMode mode;
  const char* fault;
};
const FaultOfMode kFaultsOfModes[] = {
    {ChainMode::kImages, "head-tells-at-once-what-it-saw"},
    {ChainMode::kImages, "kamino-unlocks-before-sync"},
    {ChainMode::kImages, "roll-forward-applies-nothing"},
    {ChainMode::kTraditional, "executor-saves-after-storing"},
    {ChainMode::kTraditional, "head-tells-at-once-what-it-saw"},
    {ChainMode::kTraditional, "kamino-unlocks-before-sync"},
    {ChainMode::kTraditional, "storage-rolls-nothing-back"},
    {ChainMode::kTraditional, "undo-copies-are-behind"},
    {ChainMode::kTraditional, "undo-is-not-drained"},
};

using faults::Verdict;

// The violation of the first seed that notices the fault, as one line.
Verdict RunWithFault(const std::string& fault, uint64_t seeds, ChainMode mode) {
  faults::PlantFault(fault);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const RunResult result = RunSeed(seed, nullptr, mode);
    const bool met = fault.empty() || faults::PlantedFaultWasMet();
    if (!result.violation.ok()) {
      return {/*caught=*/met, "seed " + std::to_string(seed) + ": " +
                                  std::string(result.violation.message())};
    }
    if (!met && seed == kSeedsToMeet) {
      return {/*caught=*/false,
              "no seed up to " + std::to_string(seed) + " came by the fault"};
    }
  }
  return {};
}

Verdict Try(const std::string& fault, uint64_t seeds,
            ChainMode mode = ChainMode::kKamino) {
  return faults::RunTrial([&] { return RunWithFault(fault, seeds, mode); });
}

class PlantedFaultsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(PlantedFaultsTest, IsCaught) {
  const Verdict verdict = Try(GetParam(), kMany);
  std::printf("%-38s %s\n", GetParam(), verdict.how.substr(0, 160).c_str());
  EXPECT_TRUE(verdict.caught) << verdict.how;
}

std::string Words(absl::string_view name) {
  return absl::StrReplaceAll(name, {{"-", "_"}});
}

INSTANTIATE_TEST_SUITE_P(All, PlantedFaultsTest, ::testing::ValuesIn(kFaults),
                         [](const auto& info) { return Words(info.param); });

class FaultsOfModesTest : public ::testing::TestWithParam<FaultOfMode> {};

TEST_P(FaultsOfModesTest, IsCaught) {
  const auto& [mode, fault] = GetParam();
  const Verdict verdict = Try(fault, kMany, mode);
  std::printf("%-38s %s\n", fault, verdict.how.substr(0, 160).c_str());
  EXPECT_TRUE(verdict.caught) << verdict.how;
}

INSTANTIATE_TEST_SUITE_P(All, FaultsOfModesTest,
                         ::testing::ValuesIn(kFaultsOfModes),
                         [](const auto& info) {
                           return absl::StrCat(ChainModeName(info.param.mode),
                                               "_", Words(info.param.fault));
                         });

TEST(NoFaultTest, CorrectRunsShowNoViolation) {
  EXPECT_EQ(Try("", /*seeds=*/50).how, "");
  EXPECT_EQ(Try("", /*seeds=*/50, ChainMode::kImages).how, "");
  EXPECT_EQ(Try("", /*seeds=*/50, ChainMode::kTraditional).how, "");
}

}  // namespace
}  // namespace kamino::simulation
