// A node or peer that is stuck does not hold up others: a node that stops while
// it joins, strangers that say nothing, a node that has found that it must
// stop.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tests/faults/fault.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

using kamino::internal::v1::ChainMessage;

constexpr int kTicksPerSecond = 40;

// Two members, which hold some objects, and two nodes outside.
class ShortChain {
 public:
  // Half of the ring is enough for all operations here.
  explicit ShortChain(ChainRig::Options options = {})
      : rig([&options] {
          options.ring_bytes = 512 << 10;
          return options;
        }()) {
    rig.StartAll();
    rig.InstallView({"n1", "n2"});
    for (int i = 0; i < 12; ++i) {
      Execute("key" + std::to_string(i), std::string(6000, 'a' + i));
    }
  }

  std::shared_ptr<Issued> Execute(const std::string& key,
                                  const std::string& value) {
    auto issued = rig.Submit(++client_, {Put(key, value)});
    rig.Settle(2);
    return issued;
  }
  bool KeepsUp(const std::string& name) {
    return rig.node(name).core().links().joiner.keeps_up();
  }
  void StepUntilSent(int chunks) {
    int sent = 0;
    rig.SetTap([&](const std::string&, uint64_t, const ChainMessage& message,
                   absl::string_view) { sent += message.has_state_chunk(); });
    while (sent < chunks) {
      if (!rig.Step()) rig.Tick();
    }
    rig.SetTap(nullptr);
  }

  ChainRig rig;

 private:
  uint64_t client_ = 0;
};

// n3 is stopped while it joins, and its link stays: whether n4 gets in.
bool AnotherJoins(bool has_the_heap) {
  ShortChain chain;
  ChainRig& rig = chain.rig;
  rig.Invite("n3");
  if (has_the_heap) {
    rig.Settle();
    EXPECT_TRUE(chain.KeepsUp("n3"));
  } else {
    chain.StepUntilSent(3);
    EXPECT_TRUE(rig.node("n2").core().transfer().sending);
  }
  rig.Hold("n3");
  rig.Invite("n4");
  for (int i = 0; i < 6 * kTicksPerSecond && !chain.KeepsUp("n4"); ++i) {
    EXPECT_TRUE(chain.Execute("more", "of it")->acknowledged());
    rig.Settle(1);
  }
  if (!chain.KeepsUp("n4")) return false;
  rig.InstallView({"n1", "n2", "n4"});
  rig.Hold("n3", false);
  rig.Settle(kTicksPerSecond);
  EXPECT_TRUE(chain.KeepsUp("n3"));
  rig.InstallView({"n1", "n2", "n4", "n3"});
  EXPECT_TRUE(chain.Execute("more", "at all four")->acknowledged());
  rig.Settle();
  EXPECT_EQ(rig.Difference(), "");
  return true;
}

// As many as would take all the links that a listener has.
bool StrangersMakeRoom() {
  ShortChain chain;
  ChainRig& rig = chain.rig;
  std::vector<std::shared_ptr<const SilentStranger>> strangers;
  for (int i = 0; i < 70; ++i) strangers.push_back(rig.Connect("n2"));
  int greetings = 0;
  rig.SetTap([&](const std::string&, uint64_t, const ChainMessage& message,
                 absl::string_view) { greetings += message.has_hello(); });
  rig.Settle(kTicksPerSecond / 2);
  for (const auto& stranger : strangers) EXPECT_FALSE(stranger->closed);
  rig.Settle(kTicksPerSecond);
  EXPECT_TRUE(chain.Execute("more", "of it")->acknowledged());
  EXPECT_EQ(greetings, 0);  // neighbours have kept their links
  int left = 0;
  for (const auto& stranger : strangers) left += !stranger->closed;
  return left == 0;
}

// The second node's memory is damaged when it becomes head: whether it keeps
// what it does from then on to itself.
bool NothingLeavesAfterTheEnd() {
  ShortChain chain({.outlives_fatal = true});
  ChainRig& rig = chain.rig;
  rig.InstallView({"n1", "n2", "n3"});
  rig.Settle();
  // n3 completes an operation, and no other node hears of it.
  bool ended = false;
  int sent = 0;
  rig.SetFilter([&](const std::string& from, const std::string&,
                    ChainMessage* message, std::string*) {
    sent += ended && from == "n2";
    return from != "n3" ||
           !(message->has_completion() || message->has_clean_up());
  });
  chain.Execute("last", "of n1");
  const replica::LogRing& ring = rig.ring("n2");
  const absl::string_view entry = ring.EntryOf(ring.applied()).bytes();
  std::memset(const_cast<char*>(entry.data()), 0xff, entry.size());
  rig.CutPower("n1", /*seed=*/1);
  rig.InstallView({"n2", "n3"});
  for (int i = 0; i < 1000 && rig.fatal("n2").ok(); ++i) {
    if (!rig.Step()) rig.Tick();
  }
  EXPECT_NE(rig.fatal("n2").message().find("cannot become head"),
            absl::string_view::npos)
      << rig.fatal("n2");
  ended = true;
  const auto issued = chain.Execute("first", "of n2");
  rig.Settle();
  return sent == 0 && issued->answers == 1 && !issued->acknowledged();
}

TEST(GivingWayTest, ANodeThatStopsDuringTheTransferGivesWay) {
  EXPECT_TRUE(AnotherJoins(/*has_the_heap=*/false));
}

TEST(GivingWayTest, ANodeThatStopsAfterTheTransferGivesWay) {
  EXPECT_TRUE(AnotherJoins(/*has_the_heap=*/true));
}

TEST(GivingWayTest, ASlowNodeIsNotDisturbed) {
  ShortChain chain({.transfer_bytes_per_s = 10000});
  ChainRig& rig = chain.rig;
  rig.Invite("n3");
  rig.Settle(2);
  rig.Invite("n4");
  rig.Settle(5 * kTicksPerSecond);
  EXPECT_TRUE(rig.node("n2").core().transfer().sending);
  while (!chain.KeepsUp("n3")) rig.Settle(2);
  EXPECT_EQ(rig.node("n2").core().transfer().begun, 1u);
}

TEST(GivingWayTest, SilentStrangersGiveWay) {
  EXPECT_TRUE(StrangersMakeRoom());
}

TEST(GivingWayTest, AFailedNodeSendsNothing) {
  EXPECT_TRUE(NothingLeavesAfterTheEnd());
}

TEST(GivingWayTest, PlantedFaultsAreDetected) {
  faults::PlantFault("joining-no-node-gives-way");
  EXPECT_FALSE(AnotherJoins(/*has_the_heap=*/true));
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("links-of-unknown-peers-stay");
  EXPECT_FALSE(StrangersMakeRoom());
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("node-goes-on-after-its-end");
  EXPECT_FALSE(NothingLeavesAfterTheEnd());
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

}  // namespace
}  // namespace kamino::node
