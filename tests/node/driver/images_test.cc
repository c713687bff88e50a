// Chains whose log entries carry after-images: a node that a power cut
// interrupted, at every flush or drain of an operation in turn, goes on by
// itself, and alone if no other is there.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/node/driver/chain_rig.h"
#include "tests/node/driver/torn_change.h"

namespace kamino::node {
namespace {

using kamino::internal::v1::ChainMessage;
using kamino::v1::Operation;
using membership::Condition;
using Moment = ChainRig::Moment;

ChainRig::Options InImages() {
  ChainRig::Options options;
  options.names = {"n1", "n2", "n3"};
  options.mode = ChainMode::kImages;
  return options;
}

class ImagesRig {
 public:
  ImagesRig() : rig_(InImages()) {
    rig_.SetTap([this](const std::string&, ChainRig::LinkId,
                       const ChainMessage& message, absl::string_view) {
      fetches_ += message.has_fetch();
      chunks_ += message.has_state_chunk();
      quarantined_ += message.has_append() && message.append().deadly();
    });
    Prepare(rig_);
  }

  // Writes to what Change() has made, and frees some of it.
  static std::vector<Operation> NextChange() {
    return {Patch("new0", 100, "on top"), Delete("new1"),
            Put("old1", std::string(700, 'w')), Patch("old0", 12, "twice")};
  }

  // Submits two, of which the second needs what the first leaves, and cuts the
  // power within either of them. False: there are not as many moments.
  bool CutWithin(const std::string& victim, Moment moment, int count) {
    rig_.CutPowerAt(victim, moment, count);
    issued_ = {rig_.Submit(1, Change()), rig_.Submit(2, NextChange())};
    rig_.Settle(3);
    torn_ += rig_.tear(victim).torn();
    return rig_.tear(victim).happened;
  }

  // Interrupted requests are answered once, and the chain takes more.
  void ExpectGoesOn() {
    for (const auto& issued : issued_) {
      if (!issued->acknowledged()) rig_.Retry(issued);
    }
    rig_.Settle();
    for (const auto& issued : issued_) {
      EXPECT_TRUE(issued->acknowledged()) << issued->outcome.status;
    }
    EXPECT_EQ(rig_.Difference(), "");
    issued_ = {rig_.Submit(20, {Put("after", std::string(400, 'q'))}),
               rig_.Submit(21, {Delete("old3")}),
               rig_.Submit(22, {Patch("old4", 0, "again")})};
    rig_.Settle();
    for (const auto& issued : issued_) {
      EXPECT_EQ(issued->answers, 1);
      EXPECT_TRUE(issued->acknowledged()) << issued->outcome.status;
    }
    EXPECT_EQ(rig_.Difference(), "");
    EXPECT_EQ(fetches_, 0);
  }

  ChainRig rig_;
  std::vector<std::shared_ptr<Issued>> issued_;
  int fetches_ = 0;
  int chunks_ = 0;  // of a state transfer
  int quarantined_ = 0;
  int torn_ = 0;
};

// For each moment within two operations; how often something was torn.
template <typename Check>
int AtEachMomentOfTwo(const std::string& victim, const Check& check) {
  int torn = 0;
  for (const Moment moment : {Moment::kFlush, Moment::kDrain}) {
    for (int count = 1; count < kMostMoments; ++count) {
      SCOPED_TRACE(absl::StrCat(victim, ", moment ", count));
      ImagesRig images;
      if (!images.CutWithin(victim, moment, count)) break;
      check(images);
      torn += images.torn_;
      if (::testing::Test::HasFailure()) return torn;
    }
  }
  return torn;
}

class ImagesTest : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Nodes, ImagesTest, ::testing::Values("n1", "n2", "n3"),
                         [](const auto& info) { return info.param; });

// The node is whole before it has heard of another node.
TEST_P(ImagesTest, ARestartedNodeContinuesByItself) {
  const std::string victim = GetParam();
  const int torn = AtEachMomentOfTwo(victim, [&](ImagesRig& images) {
    ChainRig& rig = images.rig_;
    rig.Start(victim);
    ASSERT_TRUE(rig.up(victim)) << rig.fatal(victim);
    EXPECT_EQ(rig.node(victim).core().soundness().condition(),
              Condition::kReturned);
    EXPECT_EQ(rig.ring(victim).applied(), rig.ring(victim).received());
    if (rig.ring(victim).received() == rig.ring("n1").received()) {
      EXPECT_EQ(*rig.ReadAll(victim), *rig.ReadAll("n1"));
    }
    rig.InstallView({"n1", "n2", "n3"});
    rig.Settle();
    images.ExpectGoesOn();
  });
  EXPECT_GT(torn, 5);
}

// Any single survivor of a power cut holds everything.
TEST_P(ImagesTest, AnyNodeContinuesAlone) {
  const std::string victim = GetParam();
  const int torn = AtEachMomentOfTwo(victim, [&](ImagesRig& images) {
    ChainRig& rig = images.rig_;
    uint64_t seed = 5;
    for (const char* name : {"n1", "n2", "n3"}) {
      if (rig.up(name)) rig.CutPower(name, seed += 17);
    }
    rig.Start(victim);
    ASSERT_TRUE(rig.up(victim)) << rig.fatal(victim);
    rig.InstallView({victim});
    rig.Settle();
    images.ExpectGoesOn();
  });
  EXPECT_GT(torn, 5);
}

// A new head has no predecessor to ask, nor need it execute again.
TEST(NewHeadTest, ARestartedNodeContinuesByItself) {
  const int torn = AtEachMomentOfTwo("n2", [&](ImagesRig& images) {
    ChainRig& rig = images.rig_;
    rig.CutPower("n1", 3);
    rig.Start("n2");
    EXPECT_EQ(rig.ring("n2").applied(), rig.ring("n2").received());
    rig.InstallView({"n2", "n3"});
    rig.Settle();
    // It is there before anyone asks for it again.
    EXPECT_EQ(rig.ring("n3").applied(), rig.tear("n2").received);
    images.ExpectGoesOn();
  });
  EXPECT_GT(torn, 5);
}

// No successor executes an entry that was on its way to a dead node: the
// entry's images are there.
TEST(QuarantinedEntriesTest, AreTakenFromTheirImages) {
  ImagesRig images;
  ChainRig& rig = images.rig_;
  rig.Hold("n2");
  images.issued_ = {rig.Submit(1, Change())};
  rig.Settle(1);
  rig.CutPower("n2", 7);
  EXPECT_EQ(images.quarantined_, 0);
  const uint64_t received = rig.ring("n1").received();
  EXPECT_EQ(rig.ring("n3").received(), received - 1);
  rig.InstallView({"n1", "n3"});
  rig.Settle();
  EXPECT_EQ(rig.ring("n3").applied(), received);
  EXPECT_GT(images.quarantined_, 0);
  images.ExpectGoesOn();
}

// No member waits for a joining node, but the node holds the entry that a crash
// interrupted.
TEST(JoiningTest, ARestartWithinAnEntryResumes) {
  ImagesRig images;
  ChainRig& rig = images.rig_;
  rig.CutPower("n3", 1);
  rig.InstallView({"n1", "n2"});
  rig.Settle();
  rig.Start("n3");
  rig.Invite("n3");
  rig.Settle();
  ASSERT_TRUE(rig.node("n3").core().links().joiner.keeps_up());
  const int chunks = images.chunks_;
  rig.CutPowerAt("n3", Moment::kFlush, 6);
  images.issued_ = {rig.Submit(1, Change())};
  rig.Settle();
  ASSERT_TRUE(rig.tear("n3").happened);
  EXPECT_GT(rig.tear("n3").received, rig.tear("n3").applied);
  const auto meanwhile = rig.Submit(2, ImagesRig::NextChange());
  rig.Settle(2);
  EXPECT_TRUE(meanwhile->acknowledged());

  rig.Start("n3");
  EXPECT_EQ(rig.node("n3").core().soundness().condition(), Condition::kBehind);
  rig.Invite("n3");
  rig.Settle();
  EXPECT_TRUE(rig.node("n3").core().links().joiner.keeps_up());
  EXPECT_EQ(images.chunks_, chunks);
  rig.InstallView({"n1", "n2", "n3"});
  rig.Settle();
  images.ExpectGoesOn();
}

// Bytes of images are counted.
TEST(ImageBytesTest, AreReportedForTheRing) {
  ImagesRig images;
  const replica::LogRing& ring = images.rig_.ring("n2");
  const uint64_t bytes = ring.appended().bytes;
  const uint64_t of_images = ring.appended().image_bytes;
  EXPECT_GT(of_images, 8 * 300u);
  images.rig_.Submit(1, {Patch("old0", 0, std::string(200, 'p'))});
  images.rig_.Settle();
  EXPECT_GT(ring.appended().image_bytes, of_images + 200);
  EXPECT_GT(ring.appended().bytes - bytes,
            ring.appended().image_bytes - of_images + 200);
  ChainRig other;
  other.StartAll();
  other.InstallView({"n1", "n2", "n3", "n4"});
  other.Settle();
  EXPECT_GT(other.ring("n2").appended().bytes, 0u);
  EXPECT_EQ(other.ring("n2").appended().image_bytes, 0u);
}

}  // namespace
}  // namespace kamino::node
