#ifndef KAMINO_TESTS_MEMBERSHIP_STORE_RECOVERY_FIXTURE_H_
#define KAMINO_TESTS_MEMBERSHIP_STORE_RECOVERY_FIXTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/faults/fault.h"
#include "tests/membership/manager_core_fixture.h"

namespace kamino::membership {

// A chain that has had two views, and managers whose store may know less.
class StoreRecoveryTest : public ManagerCoreTest {
 protected:
  // Forms the chain, and makes views of it without n3.
  void SetUp() override {
    FormChain();
    old_ = core_.view();
    Pass(3 * kTimeout, {all_[0], all_[1]});
    newest_ = core_.view();
    ASSERT_EQ(newest_.id, 2u);
  }
  void TearDown() override { faults::PlantFault(""); }

  // The report of a process that was not restarted since.
  NodeReport Knows(const View& view) {
    NodeReport report;
    report.view_id = view.id;
    report.view_digest = view.digest;
    report.member_view = view.id;
    report.cluster_uuid = view.cluster_uuid;
    report.condition = Condition::kSound;
    return report;
  }
  // The report of a restarted member of that view.
  NodeReport WasIn(uint64_t view_id, Condition condition) {
    NodeReport report;
    report.condition = condition;
    report.member_view = view_id;
    report.cluster_uuid = newest_.cluster_uuid;
    return report;
  }
  // `newest`: the view that its process was given.
  absl::Status Tell(const std::string& id, const NodeReport& report,
                    const View& newest = {}) {
    return core_.Register("c", Node(id), report, now_, newest);
  }
  absl::Status Tell(const std::string& id, const View& knows) {
    return Tell(id, Knows(knows), knows);
  }
  // Until earlier leases have expired, while these nodes are heard.
  void Wait(const std::vector<std::string>& ids) {
    for (int i = 0; i < 40; ++i) {
      now_ += kBeat;
      for (const std::string& id : ids) {
        EXPECT_FALSE(Tell(id, newest_).ok());
        EXPECT_FALSE(core_.ProposeView(now_).has_value());
      }
    }
  }

  View old_;
  View newest_;
};

}  // namespace kamino::membership

#endif  // KAMINO_TESTS_MEMBERSHIP_STORE_RECOVERY_FIXTURE_H_
