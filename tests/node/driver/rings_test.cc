// Rings of one chain must be equal: what the head's takes all others take.
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replica/errors.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

constexpr uint64_t kRingBytes = 128 << 10;  // takes operations of a quarter
const char* const kNames[] = {"n1", "n2", "n3"};

void ExpectAllUp(const ChainRig& rig) {
  for (const char* name : kNames) {
    EXPECT_TRUE(rig.up(name)) << name << ": " << rig.fatal(name);
  }
}

TEST(RingsTest, ANodeIsNotSentEntriesBeyondItsRing) {
  ChainRig::Options options;
  options.ring_bytes = kRingBytes;
  options.ring_bytes_of["n1"] = 4 * kRingBytes;
  ChainRig rig(options);
  rig.StartAll();
  rig.InstallView({"n1", "n2", "n3"});
  const auto large = rig.Submit(1, {Put("large", std::string(60 << 10, 'x'))});
  rig.Settle(60);
  ExpectAllUp(rig);
  EXPECT_FALSE(large->acknowledged());
}

TEST(RingsTest, TheHeadRefusesEntriesThatNoRingTakes) {
  ChainRig::Options options;
  options.ring_bytes = kRingBytes;
  ChainRig rig(options);
  rig.StartAll();
  rig.InstallView({"n1", "n2", "n3"});
  const auto large = rig.Submit(1, {Put("large", std::string(60 << 10, 'x'))});
  rig.Settle();
  EXPECT_EQ(replica::ReasonOf(large->outcome.status),
            kamino::v1::REASON_TOO_LARGE)
      << large->outcome.status;
  ExpectAllUp(rig);
  const auto small = rig.Submit(2, {Put("small", "x")});
  rig.Settle();
  EXPECT_TRUE(small->acknowledged());
  EXPECT_EQ(rig.Difference(), "");
}

}  // namespace
}  // namespace kamino::node
