// A head or a tail can no longer read an object: the node leaves the chain to
// members that have it, or, when none has, answers with the error.
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replica/state/state_format.h"
#include "tests/faults/planted.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

using replica::state_format::StateRoot;

// Overwrites the first page of the index of objects.
void DamageIndex(engine::Heap* heap) {
  StateRoot root;
  std::memcpy(&root, (*heap->Payload(heap->root())).data(), sizeof(root));
  const auto page = *heap->Payload(root.objects_root);
  std::memset(const_cast<std::byte*>(page.data()), 0xff, page.size());
}

// Like a client's read of a key at a tail.
absl::Status ReadFrom(ChainRig* rig, const std::string& name) {
  absl::Status status = rig->node(name).reads().Read(
      nullptr, [](engine::KeyValueReader& objects) {
        return objects.Get("key1").status();
      });
  rig->Tick();
  rig->Settle(2);
  return status;
}

void Fill(ChainRig* rig, const std::vector<std::string>& members) {
  rig->StartAll();
  rig->InstallView(members);
  rig->Settle();
  for (int i = 0; i < 5; ++i) {
    rig->Submit(1, {Put("key" + std::to_string(i), "value")});
    rig->Settle(2);
  }
  rig->Settle();
}

TEST(DamagedObjectTest, AHeadLeavesWhenOtherNodesHoldItsData) {
  ChainRig rig({.ring_bytes = 512 << 10});
  Fill(&rig, {"n1", "n2", "n3"});
  const auto before = rig.ReadAll("n3");
  ASSERT_TRUE(before.ok() && !before->empty());
  DamageIndex(rig.storage("n1").heap());
  rig.Submit(1, {Put("key1", "another")});
  rig.Settle(2);
  EXPECT_THAT(std::string(rig.fatal("n1").message()),
              testing::HasSubstr("an object cannot be read: the index"));
  rig.InstallView({"n2", "n3"});
  rig.Settle();
  EXPECT_TRUE(rig.fatal("n2").ok()) << rig.fatal("n2");
  const auto after = rig.ReadAll("n3");
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(*after, *before);
}

// Mutations that the tail completed are held, whenever they are acknowledged.
TEST(DamagedObjectTest, ABusyHeadLeaves) {
  ChainRig rig({.ring_bytes = 512 << 10, .ack_delay = absl::Hours(1)});
  Fill(&rig, {"n1", "n2"});
  rig.Submit(1, {Put("key0", "another")});
  rig.Settle();
  DamageIndex(rig.storage("n1").heap());
  rig.Submit(1, {Put("key1", "another")});
  rig.Settle(2);
  EXPECT_THAT(std::string(rig.fatal("n1").message()),
              testing::HasSubstr("an object cannot be read: the index"));
}

TEST(DamagedObjectTest, ATailLeavesWhenOtherNodesHoldItsData) {
  ChainRig rig({.ring_bytes = 512 << 10});
  Fill(&rig, {"n1", "n2", "n3"});
  DamageIndex(rig.storage("n3").heap());
  EXPECT_FALSE(ReadFrom(&rig, "n3").ok());
  EXPECT_THAT(std::string(rig.fatal("n3").message()),
              testing::HasSubstr("an object cannot be read: the index"));
  EXPECT_TRUE(rig.fatal("n2").ok());
}

// Whether a head leaves if it finds the damage while a neighbour cannot be
// reached, and again once it can be.
bool AHeadLeavesLater() {
  ChainRig rig({.ring_bytes = 512 << 10});
  Fill(&rig, {"n1", "n2", "n3"});
  DamageIndex(rig.storage("n1").heap());
  rig.Hold("n2");
  rig.BreakLinks("n1", "n2");
  rig.Settle(2);
  const auto first = rig.Submit(1, {Put("key1", "another")});
  rig.Settle(2);
  EXPECT_TRUE(absl::IsDataLoss(first->outcome.status)) << first->outcome.status;
  EXPECT_TRUE(rig.fatal("n1").ok()) << rig.fatal("n1");
  rig.Hold("n2", false);
  rig.Settle();
  rig.Submit(2, {Put("key1", "another")});
  rig.Settle(2);
  return !rig.fatal("n1").ok();
}

bool ATailLeavesLater() {
  ChainRig rig({.ring_bytes = 512 << 10});
  Fill(&rig, {"n1", "n2", "n3"});
  DamageIndex(rig.storage("n3").heap());
  rig.Hold("n2");
  rig.BreakLinks("n2", "n3");
  rig.Settle(2);
  EXPECT_TRUE(absl::IsDataLoss(ReadFrom(&rig, "n3")));
  EXPECT_TRUE(rig.fatal("n3").ok()) << rig.fatal("n3");
  rig.Hold("n2", false);
  rig.Settle();
  EXPECT_FALSE(ReadFrom(&rig, "n3").ok());
  return !rig.fatal("n3").ok();
}

TEST(DamagedObjectTest, ANodeThatCannotLeaveLeavesLater) {
  EXPECT_TRUE(AHeadLeavesLater());
  EXPECT_TRUE(ATailLeavesLater());
}

TEST(DamagedObjectTest, ANodeThatAsksOnlyOnceIsDetected) {
  const faults::Planted fault("chain-asks-once-for-the-holder-of-its-data");
  EXPECT_FALSE(AHeadLeavesLater());
  EXPECT_FALSE(ATailLeavesLater());
}

TEST(DamagedObjectTest, ALoneNodeContinuesAndReportsTheDamage) {
  ChainRig rig({.ring_bytes = 512 << 10});
  Fill(&rig, {"n1"});
  DamageIndex(rig.storage("n1").heap());
  for (int i = 0; i < 2; ++i) {
    rig.Submit(1, {Put("key1", "another")});
    rig.Settle(2);
    const absl::Status read = ReadFrom(&rig, "n1");
    EXPECT_TRUE(absl::IsDataLoss(read)) << read;
  }
  EXPECT_TRUE(rig.fatal("n1").ok()) << rig.fatal("n1");
}

}  // namespace
}  // namespace kamino::node
