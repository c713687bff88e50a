// Refusals of `admin remove`, `drain` and `recover` name a remedy that works.
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "membership/manager/manager_core.h"
#include "tests/membership/manager_core_fixture.h"

namespace kamino::membership {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RemovalRefusalsTest : public ManagerCoreTest {
 protected:
  // n2 and n3 die: the view names n1 alone.
  void LeaveN1Alone() {
    FormChain();
    Pass(kTimeout * 2, {all_[0]});
    ASSERT_EQ(Names(core_.view()), "n1.1 ");
  }

  std::string WhyNot(const std::string& node_id, Removal how) {
    return std::string(core_.removals().Exclude(node_id, how, now_).message());
  }
  std::string WhyNotRecovered() {
    return std::string(core_.recoveries().Plan(now_).status().message());
  }
};

TEST_F(RemovalRefusalsTest, ARefusalAdvisesToDrainTheOnlyMember) {
  LeaveN1Alone();
  for (const Removal how : {Removal::kNow, Removal::kForced}) {
    EXPECT_THAT(WhyNot("n1", how),
                AllOf(HasSubstr("start another node, if there is no spare"),
                      HasSubstr("kamino admin drain n1")));
  }
  // As a removal would be refused, the text does not offer it.
  EXPECT_THAT(
      WhyNot("n1", Removal::kDrain),
      AllOf(HasSubstr("start another node first"), Not(HasSubstr("remove"))));
}

TEST_F(RemovalRefusalsTest, ARefusalAdvisesToAddARemovedNode) {
  FormChain();
  Pass(kBeat, all_);
  ASSERT_EQ(core_.removals().Exclude("n3", Removal::kNow, now_),
            absl::OkStatus());
  Pass(kTimeout, {all_[0], all_[1]});
  Pass(kTimeout * 2, {all_[0]});
  ASSERT_EQ(Names(core_.view()), "n1.1 ");
  ASSERT_EQ(Register(all_[2]), absl::OkStatus());
  EXPECT_THAT(WhyNot("n1", Removal::kNow),
              HasSubstr("add n3 first, which was removed and runs: "
                        "kamino admin add n3"));
}

TEST_F(RemovalRefusalsTest, ARefusalAdvisesToStartADeadMember) {
  LeaveN1Alone();
  Pass(kTimeout * 2, {});
  // No other member has the data.
  EXPECT_THAT(WhyNot("n1", Removal::kForced),
              AllOf(HasSubstr("start n1 on its data"),
                    Not(HasSubstr("empty data directory"))));
}

TEST_F(RemovalRefusalsTest, RecoveryNeedsANodeWithData) {
  LeaveN1Alone();
  EXPECT_THAT(WhyNotRecovered(), HasSubstr("the chain can continue by itself"));
  Pass(kTimeout * 2, {});
  EXPECT_THAT(
      WhyNotRecovered(),
      HasSubstr("the chain waits for n1; start a member on its data; no "
                "running member has any"));
  ASSERT_EQ(Register(Replacement("n1", 2)), absl::OkStatus());
  EXPECT_THAT(WhyNotRecovered(),
              HasSubstr("no running member has any. If all of it is lost, "
                        "restore a backup: kamino backup restore"));
}

}  // namespace
}  // namespace kamino::membership
