// A node is to become head, and its heap's root object is damaged: whatever it
// would make of it, the nodes after it would do as well.
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replica/state/state_format.h"
#include "tests/faults/fault.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

using replica::state_format::StateRoot;

struct Ending {
  std::string why;    // the second node stopped, as it says; "" if it did not
  bool kept = false;  // the third one holds what it held
};

// The first of three nodes dies, and the second one's root is damaged.
Ending BecomeHeadWith(const std::function<void(StateRoot*)>& damage) {
  ChainRig rig({.ring_bytes = 512 << 10});
  rig.StartAll();
  rig.InstallView({"n1", "n2", "n3"});
  rig.Settle();
  for (int i = 0; i < 5; ++i) {
    rig.Submit(1, {Put("key" + std::to_string(i), "value")});
    rig.Settle(2);
  }
  rig.Settle();
  const auto before = rig.ReadAll("n3");
  EXPECT_TRUE(before.ok() && !before->empty());

  engine::Heap* heap = rig.storage("n2").heap();
  const auto payload = *heap->Payload(heap->root());
  auto* bytes = const_cast<std::byte*>(payload.data());
  StateRoot root;
  std::memcpy(&root, bytes, sizeof(root));
  damage(&root);
  std::memcpy(bytes, &root, sizeof(root));
  rig.CutPower("n1", /*seed=*/1);
  rig.InstallView({"n2", "n3"});
  for (int i = 0; i < 1000 && rig.fatal("n2").ok(); ++i) {
    if (!rig.Step()) rig.Tick();
  }
  const std::string why(rig.fatal("n2").message());
  rig.InstallView({"n3"});
  rig.Settle();
  const auto after = rig.ReadAll("n3");
  EXPECT_TRUE(after.ok()) << after.status();
  return {why, after.ok() && *after == *before};
}

void FlipABit(StateRoot* root) { root->magic ^= 1 << 9; }
void MakeOlder(StateRoot* root) { root->magic -= 1ull << 48; }
void Empty(StateRoot* root) { std::memset(root, 0, sizeof(*root)); }

TEST(DamagedRootTest, IsNotFormattedOver) {
  for (const auto& damage : {FlipABit, MakeOlder}) {
    const Ending ending = BecomeHeadWith(damage);
    EXPECT_THAT(ending.why, testing::HasSubstr("cannot become head"));
    EXPECT_THAT(ending.why, testing::HasSubstr("root object"));
    EXPECT_TRUE(ending.kept);
  }
}

TEST(DamagedRootTest, AnEmptyRootIsNotTakenForANewChain) {
  const Ending ending = BecomeHeadWith(Empty);
  EXPECT_THAT(ending.why, testing::HasSubstr("the root object is empty"));
  EXPECT_TRUE(ending.kept);
}

TEST(DamagedRootTest, FormattingOverItIsDetected) {
  faults::PlantFault("head-formats-what-it-cannot-read");
  for (const auto& damage : {FlipABit, MakeOlder, Empty}) {
    EXPECT_FALSE(BecomeHeadWith(damage).kept);
  }
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

}  // namespace
}  // namespace kamino::node
