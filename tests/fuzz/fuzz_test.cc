// A short, deterministic run of every target: its valid inputs, mutations of
// them, and the inputs that once broke something. `make fuzz` looks for more.
#include <set>

#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tests/fuzz/chain_script.h"
#include "tests/fuzz/driver.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/situations.h"

namespace kamino::fuzz {
namespace {

constexpr uint64_t kSeeds = 1500;

class FuzzTest : public ::testing::TestWithParam<Target> {};

TEST_P(FuzzTest, ATargetReturnsForAnyInput) {
  const Mutations mutations(GetParam());
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    GetParam().run(mutations.Make(seed));
  }
}

// Else the mutations would be of nothing.
TEST_P(FuzzTest, MutationsDiffer) {
  const Mutations mutations(GetParam());
  std::set<std::string> inputs;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    inputs.insert(mutations.Make(seed));
  }
  EXPECT_GT(inputs.size(), 180u);
  EXPECT_EQ(mutations.Make(150), mutations.Make(150));
}

INSTANTIATE_TEST_SUITE_P(All, FuzzTest, ::testing::ValuesIn(AllTargets()),
                         [](const auto& info) { return info.param.name; });

TEST(ScriptTest, DecodingInvertsEncoding) {
  for (const Situation& situation : Situations()) {
    const std::string bytes = Encode(situation.script);
    EXPECT_EQ(Encode(Decode(bytes)), bytes);
    EXPECT_EQ(Decode(bytes).steps.size(), situation.script.steps.size());
    EXPECT_LT(situation.script.steps.size(), kMaxSteps);
    const bool alone = situation.view.members.size() == 1;
    EXPECT_EQ(situation.script.steps.empty(), alone) << situation.name;
  }
}

TEST(TlsTargetTest, AValidInputIsAccepted) {
  const TlsRun run = RunValidTls();
  EXPECT_TRUE(run.known);
  EXPECT_GT(run.forth, 50000u);
  EXPECT_GT(run.back, 50000u);
}

TEST(SessionTargetTest, AValidInputIsAccepted) {
  const SessionRun told = RunValidSession();
  EXPECT_EQ(told.welcomes, 2);
  EXPECT_GE(told.fulfilled, 10);
}

}  // namespace
}  // namespace kamino::fuzz
