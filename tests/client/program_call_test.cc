#include "client/cli/program_call.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/patience.h"

namespace kamino::client {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

const absl::Duration kPatience = Patience(absl::Seconds(30));

TEST(ProgramCallTest, ReturnsBothOutputsAndTheExitCode) {
  const auto said =
      RunProgram("sh", {"-c", "echo one; echo two >&2; exit 7"}, kPatience);
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_EQ(said->text, "one\ntwo\n");
  EXPECT_EQ(said->code, 7);
}

TEST(ProgramCallTest, TheProgramsInputIsEmpty) {
  const auto said = RunProgram("cat", {}, kPatience);
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_EQ(said->text, "");
  EXPECT_EQ(said->code, 0);
}

TEST(ProgramCallTest, LongOutputIsTruncated) {
  const auto said =
      RunProgram("sh", {"-c", "head -c 1000000 /dev/zero; exit 3"}, kPatience);
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_LT(said->text.size(), 70000u);
  EXPECT_EQ(said->code, 3);
}

TEST(ProgramCallTest, ErrorsExplainAMissingAnswer) {
  const auto none = RunProgram("kamino_no_such", {}, kPatience);
  EXPECT_TRUE(absl::IsNotFound(none.status())) << none.status();
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("No such file"));
  const auto killed = RunProgram("sh", {"-c", "kill -9 $$"}, kPatience);
  EXPECT_THAT(std::string(killed.status().message()), EndsWith("by signal 9"));
  const auto slow = RunProgram("cat", {"/dev/zero"}, absl::Milliseconds(50));
  EXPECT_TRUE(absl::IsDeadlineExceeded(slow.status())) << slow.status();
  const auto silent =
      RunProgram("sh", {"-c", "exec >&- 2>&-; while :; do :; done"},
                 absl::Milliseconds(50));
  EXPECT_TRUE(absl::IsDeadlineExceeded(silent.status())) << silent.status();
}

TEST(ProgramCallTest, ProgramsBesideThisOneAreFound) {
  EXPECT_THAT(BesideThis("kamino_node"), EndsWith("/kamino_node"));
}

}  // namespace
}  // namespace kamino::client
