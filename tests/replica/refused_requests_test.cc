#include "replica/state/refused_requests.h"

#include "gtest/gtest.h"

namespace kamino::replica {
namespace {

MutationView Put(uint64_t client_id, uint64_t number,
                 absl::string_view arguments) {
  MutationView mutation;
  mutation.function = "kv.put";
  mutation.arguments = arguments;
  mutation.client_id = client_id;
  mutation.number = number;
  return mutation;
}

TEST(RequestIdentityTest, CoversNameFunctionAndBytes) {
  const RequestIdentity put = IdentityOf(Put(1, 2, "abc"));
  EXPECT_EQ(put, IdentityOf(Put(1, 2, "abc")));
  EXPECT_FALSE(put == IdentityOf(Put(3, 2, "abc")));
  EXPECT_FALSE(put == IdentityOf(Put(1, 3, "abc")));
  EXPECT_FALSE(put == IdentityOf(Put(1, 2, "abd")));
  MutationView other = Put(1, 2, "abc");
  other.function = "kv.delete";
  EXPECT_FALSE(put == IdentityOf(other));
  // It must never change: it is stored.
  EXPECT_EQ(put.digest, 2083470919845857910u);
}

TEST(RefusedRequestsTest, ARequestIsRefusedAndItsBytesAreWatched) {
  RefusedRequests refused;
  EXPECT_FALSE(refused.Concern(1, 2));
  refused.Add({1, 2, 33}, 10);
  EXPECT_TRUE(refused.Concern(1, 2));
  EXPECT_TRUE(refused.Concern(5, 2));
  EXPECT_TRUE(refused.Refuses({1, 2, 33}));
  EXPECT_FALSE(refused.Watches({1, 2, 33}));
  EXPECT_FALSE(refused.Refuses({1, 2, 44}));  // it settles the first
  EXPECT_FALSE(refused.Watches({1, 2, 44}));
  EXPECT_FALSE(refused.Refuses({5, 2, 33}));
  EXPECT_TRUE(refused.Watches({5, 2, 33}));
}

TEST(RefusedRequestsTest, BytesThatEndedTwoHeadsAreRefused) {
  RefusedRequests refused;
  refused.Add({1, 2, 33}, 10);
  refused.Add({5, 2, 33}, 11);
  EXPECT_TRUE(refused.Refuses({6, 2, 33}));
  EXPECT_FALSE(refused.Watches({6, 2, 33}));
}

TEST(RefusedRequestsTest, ClearedBytesNoLongerCount) {
  RefusedRequests refused;
  refused.Add({1, 2, 33}, 10);
  EXPECT_EQ(refused.Clear(33).size(), 1u);
  EXPECT_TRUE(refused.Clear(33).empty());
  EXPECT_TRUE(refused.Refuses({1, 2, 33}));
  EXPECT_FALSE(refused.Watches({5, 2, 33}));
  EXPECT_TRUE(refused.Concern(1, 2));  // it is refused for good
  EXPECT_FALSE(refused.Concern(1, 3));
  EXPECT_FALSE(refused.Concern(5, 2));
  refused.Add({5, 2, 33}, 11);
  EXPECT_TRUE(refused.Watches({6, 2, 33}));
}

TEST(RefusedRequestsTest, TheOldestGivesWay) {
  RefusedRequests refused;
  constexpr uint64_t kMany = 100;
  for (uint64_t i = 1; i <= kMany; ++i) refused.Add({i, 1, i}, i);
  EXPECT_EQ(refused.size(), state_format::kRefusedSlots);
  for (uint64_t i = 1; i <= kMany; ++i) {
    EXPECT_EQ(refused.Has({i, 1, i}), i > kMany - state_format::kRefusedSlots);
  }
}

TEST(RefusedRequestsTest, ARepeatedRequestTakesNoOtherSlot) {
  RefusedRequests refused;
  EXPECT_EQ(refused.Add({1, 2, 33}, 10), refused.Add({1, 2, 33}, 11));
  EXPECT_EQ(refused.size(), 1u);
}

}  // namespace
}  // namespace kamino::replica
