// How many mutations, and of how many bytes, may be under way at a node.
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replica/errors.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

using ::testing::ElementsAre;

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

// The mutations of each entry with which the chain executes `count` puts that
// come together, of clients and keys that exist. An entry is sent before the
// next is executed.
std::vector<size_t> EntriesOf(size_t count) {
  ChainRig rig;
  rig.StartAll();
  rig.InstallView({"n1", "n2", "n3"});
  rig.Settle();
  std::vector<uint64_t> clients(count);
  std::iota(clients.begin(), clients.end(), 1);
  for (int round = 0; round < 2; ++round) {
    rig.PutTogether(clients);
    rig.Settle();
  }
  const replica::LogRing& ring = rig.ring("n1");
  const uint64_t before = ring.received();
  std::vector<uint64_t> executed;  // when an entry was sent
  rig.SetTap([&](const std::string& to, uint64_t, const auto& message,
                 absl::string_view) {
    if (to == "n2" && message.has_append()) executed.push_back(ring.received());
  });
  const auto puts = rig.PutTogether(clients);
  while (ring.received() < before + count && rig.Step()) {
  }
  std::vector<size_t> sizes;
  std::vector<uint64_t> ends;
  for (uint64_t last = before; last < ring.received();) {
    const replica::LogEntry entry = ring.EntryOf(last + 1);
    last = entry.last();
    sizes.push_back(entry.count());
    ends.push_back(last);
  }
  rig.Settle();
  EXPECT_EQ(executed, ends);
  for (const auto& put : puts) EXPECT_TRUE(put->acknowledged());
  EXPECT_EQ(rig.Difference(), "");
  return sizes;
}

// The successor executes one half while the head executes the other.
TEST(PendingTest, ManyRequestsAreDividedIntoTwoEntries) {
  EXPECT_THAT(EntriesOf(8), ElementsAre(8));
  EXPECT_THAT(EntriesOf(12), ElementsAre(8, 4));
  EXPECT_THAT(EntriesOf(40), ElementsAre(20, 20));
}

}  // namespace
}  // namespace kamino::node
