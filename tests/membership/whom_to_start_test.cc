// Which nodes a refused recovery tells the operator to start.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "membership/view_history.h"
#include "tests/faults/fault.h"
#include "tests/membership/store_recovery_fixture.h"

namespace kamino::membership {
namespace {

// A refused recovery names nodes of the newest view that any node has reported,
// not of the newest that the present nodes know.
class NodesToStartTest : public StoreRecoveryTest {
 protected:
  View After(const View& view, std::vector<Member> members) {
    View next = view;
    ++next.id;
    next.members = std::move(members);
    Succeed(view, &next);
    return next;
  }
  // Until the nodes that were heard before count as gone.
  void HearOnly(const std::string& id, const NodeReport& report,
                const View& knows = {}) {
    for (int i = 0; i < 40; ++i) {
      now_ += kBeat;
      EXPECT_FALSE(Tell(id, report, knows).ok());
    }
  }
  std::string Refused(bool force = false) {
    const auto recovered = core_.recoveries().Recover(force, now_);
    EXPECT_TRUE(absl::IsFailedPrecondition(recovered.status()));
    return std::string(recovered.status().message());
  }
  // n2, which knows view 2, is there; n3, which was alone in view 3, has
  // reported that and is gone.
  std::string RefusedWithoutTheNewest() {
    const View alone = After(newest_, {all_[2]});
    Lead(old_);
    EXPECT_FALSE(Tell("n3", alone).ok());
    HearOnly("n2", Knows(newest_), newest_);
    return Refused();
  }
};

TEST_F(NodesToStartTest, ARefusalNamesMembersOfTheNewestView) {
  const std::string why = RefusedWithoutTheNewest();
  EXPECT_TRUE(absl::StrContains(
      why,
      ": start the others of view 3: n3, or force it; it would be view "
      "4"))
      << why;
}

TEST_F(NodesToStartTest, NamingAViewOfPresentNodesIsDetected) {
  faults::PlantFault("membership-names-a-view-of-those-there");
  const std::string why = RefusedWithoutTheNewest();
  EXPECT_TRUE(absl::StrContains(why, "start the others of view 2, or")) << why;
  EXPECT_TRUE(faults::PlantedFaultWasMet());
}

// No node that knew the whole view is there to name its members.
TEST_F(NodesToStartTest, MembersOfAnUnknownViewAreNamedByTheirReports) {
  Lead(View());
  EXPECT_FALSE(Tell("n3", WasIn(3, Condition::kReturned)).ok());
  EXPECT_FALSE(Tell("n1", WasIn(2, Condition::kReturned)).ok());
  HearOnly("n2", WasIn(2, Condition::kReturned));
  const std::string why = Refused();
  EXPECT_TRUE(absl::StrContains(why, ": start the others of view 3: n3,"))
      << why;
}

TEST_F(NodesToStartTest, ARefusalNamesANodeThatKnowsALaterView) {
  const View later = After(newest_, {all_[1]});
  Lead(old_);
  EXPECT_FALSE(Tell("n4", Knows(later), later).ok());  // outside
  HearOnly("n2", Knows(newest_), newest_);
  const std::string why = Refused();
  EXPECT_TRUE(absl::StrContains(
      why, ": start or reconnect node n4, which knows view 3, or force it"))
      << why;
}

TEST_F(NodesToStartTest, ATornNodeNeedsTheNewestMembersFirst) {
  const View alone = After(newest_, {all_[2]});
  Lead(old_);
  EXPECT_FALSE(Tell("n3", alone).ok());
  EXPECT_FALSE(Tell("n1", newest_).ok());
  NodeReport torn = WasIn(2, Condition::kTorn);
  torn.cursors = {69, 68, 60};
  HearOnly("n2", torn);
  const std::string why = Refused(/*force=*/true);
  EXPECT_TRUE(absl::StrContains(
      why,
      "can repair it: start the members of view 3: n3; or else another "
      "member of view 2: n1; if none is left, stop n2,"))
      << why;
}

TEST_F(NodesToStartTest, MembersOfAnOlderViewAreNotNamed) {
  const View alone = After(newest_, {all_[2]});
  Lead(old_);
  EXPECT_FALSE(Tell("n3", alone).ok());
  HearOnly("n2", WasIn(2, Condition::kBehind));
  const std::string why = Refused(/*force=*/true);
  EXPECT_TRUE(absl::StrContains(
      why,
      "was a member of view 3 and holds its data; start the members of "
      "view 3: n3"))
      << why;
}

}  // namespace
}  // namespace kamino::membership
