// A head on probation that ends in order, or that is about to lose its place
// alive, leaves nothing behind that the next one takes for what it died of.
#include <functional>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"
#include "replica/errors.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

using kamino::internal::v1::ChainMessage;

// n1 has died, and n2 has told n3 of a request, but not heard that it knows.
class OnProbation {
 public:
  OnProbation() : rig(Options()) {
    rig.StartAll();
    rig.InstallView({"n1", "n2", "n3"});
    rig.Settle();
    rig.CutPower("n1", 1);
    rig.InstallView({"n2", "n3"});
    rig.Settle();
    rig.SetFilter([this](const std::string&, const std::string&,
                         ChainMessage* message, std::string*) {
      return !loses_acks || !message->has_announce_ack();
    });
    asked = rig.Submit(7, {Put("key", "value")});
    rig.Settle(2);
    EXPECT_EQ(asked->answers, 0);
    loses_acks = false;
  }

  // The client's answer from n3, once n2 is gone.
  kamino::v1::Reason AskedAgain() {
    rig.CutPower("n2", 1);
    rig.InstallView({"n3"});
    rig.Settle();
    rig.Retry(asked);
    rig.Settle();
    return replica::ReasonOf(asked->outcome.status);
  }

  ChainRig rig;
  bool loses_acks = true;
  std::shared_ptr<Issued> asked;

 private:
  static ChainRig::Options Options() {
    ChainRig::Options options;
    options.names = {"n1", "n2", "n3"};
    options.probation = absl::Seconds(5);
    return options;
  }
};

TEST(RetiringTest, AnAnnouncedRequestOfADeadHeadIsRefused) {
  OnProbation chain;
  EXPECT_EQ(chain.AskedAgain(), kamino::v1::REASON_POISONOUS);
}

TEST(RetiringTest, AnAnnouncedRequestOfARetiredHeadIsExecuted) {
  OnProbation chain;
  bool retired = false;
  chain.rig.Retire("n2", [&retired] { retired = true; });
  chain.rig.Settle(2);
  EXPECT_TRUE(retired);
  EXPECT_EQ(chain.asked->answers, 0);
  EXPECT_EQ(chain.AskedAgain(), kamino::v1::REASON_UNSPECIFIED);
  EXPECT_TRUE(chain.asked->acknowledged());
}

TEST(RetiringTest, ARetiringHeadExecutesNothing) {
  OnProbation chain;
  chain.rig.Retire("n2", [] {});
  const uint64_t received = chain.rig.ring("n2").received();
  chain.rig.Settle(2);
  const auto other = chain.rig.Submit(8, {Put("other", "value")});
  chain.rig.Settle(2);
  EXPECT_EQ(replica::ReasonOf(other->outcome.status),
            kamino::v1::REASON_RECONFIGURING);
  EXPECT_EQ(chain.rig.ring("n2").received(), received);
}

TEST(RetiringTest, AnUnacknowledgedRetirementIsNotDone) {
  OnProbation chain;
  chain.loses_acks = true;
  bool retired = false;
  chain.rig.Retire("n2", [&retired] { retired = true; });
  chain.rig.Settle(2);
  EXPECT_FALSE(retired);
}

// As it is left out: then the manager grants it none, and waits for its end.
TEST(RetiringTest, AHeadWithoutLeaseAnnouncesNothing) {
  OnProbation chain;
  chain.rig.SetLease("n2", false);
  chain.rig.Settle(2);
  EXPECT_EQ(chain.AskedAgain(), kamino::v1::REASON_UNSPECIFIED);
  EXPECT_TRUE(chain.asked->acknowledged());
}

TEST(RetiringTest, AHeadWithARenewedLeaseContinues) {
  OnProbation chain;
  chain.rig.SetLease("n2", false);
  chain.rig.Settle(2);
  EXPECT_EQ(chain.asked->answers, 0);
  chain.rig.SetLease("n2", true);
  chain.rig.Settle(2);
  EXPECT_TRUE(chain.asked->acknowledged());
}

}  // namespace
}  // namespace kamino::node
