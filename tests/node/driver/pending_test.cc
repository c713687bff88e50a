// How many mutations, and of how many bytes, may be under way at a node.
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "replica/errors.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

constexpr int kAtOnce = 9;

// Number of acknowledged puts among so many that come together. The others are
// refused at once, and the next ones find the room of the completed ones.
int AcceptedOf(ChainRig::Options options) {
  ChainRig rig(options);
  rig.StartAll();
  rig.InstallView({"n1", "n2", "n3"});
  rig.Settle();
  int accepted = 0;
  for (int round = 0; round < 2; ++round) {
    std::vector<uint64_t> clients(kAtOnce);
    std::iota(clients.begin(), clients.end(), 1);
    const auto puts = rig.PutTogether(clients);
    rig.Settle();
    accepted = 0;
    for (const std::shared_ptr<Issued>& put : puts) {
      EXPECT_EQ(put->answers, 1);
      if (put->acknowledged()) {
        ++accepted;
      } else {
        EXPECT_EQ(replica::ReasonOf(put->outcome.status),
                  kamino::v1::REASON_OVERLOADED)
            << put->outcome.status;
      }
    }
  }
  EXPECT_EQ(rig.Difference(), "");
  return accepted;
}

TEST(PendingTest, AcceptsRequestsUpToTheLimit) {
  EXPECT_EQ(AcceptedOf({}), kAtOnce);
  EXPECT_EQ(AcceptedOf({.max_pending_requests = 4}), 4);
}

TEST(PendingTest, AcceptsBytesUpToTheLimit) {
  ChainRig rig;
  rig.StartAll();
  rig.InstallView({"n1", "n2", "n3"});
  const auto put = rig.PutTogether({1}).front();
  rig.Settle();
  ASSERT_TRUE(put->acknowledged());
  const auto bytes = static_cast<int64_t>(put->request.arguments.size());
  EXPECT_EQ(AcceptedOf({.max_pending_bytes = 3 * bytes}), 3);
  EXPECT_EQ(AcceptedOf({.max_pending_bytes = 4 * bytes - 1}), 3);
}

// A head that waits for its undo copy goes on once that has caught up. No tick
// or message has to wake it.
TEST(PendingTest, RequestsThatWaitForTheUndoCopyNeedNoTick) {
  ChainRig rig({.names = {"n1"}, .max_batch = 1, .max_unpropagated = 2});
  rig.StartAll();
  rig.InstallView({"n1"});
  rig.Settle();
  std::vector<uint64_t> clients(kAtOnce);
  std::iota(clients.begin(), clients.end(), 1);
  const auto puts = rig.PutTogether(clients);
  while (rig.Step()) {
  }
  for (const auto& put : puts) EXPECT_TRUE(put->acknowledged());
  EXPECT_EQ(rig.Difference(), "");
}

}  // namespace
}  // namespace kamino::node
