// Attackers: a peer that claims to be a neighbour, or a neighbour that sends
// what none sends. It displaces nothing, is given nothing and ends no node.
// docs/operate/security.md has the table.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replica/link/message_rules.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

using kamino::internal::v1::ChainMessage;
using kamino::internal::v1::LINK_PURPOSE_APPEND;
using kamino::internal::v1::LINK_PURPOSE_COMPLETION;
using kamino::internal::v1::LINK_PURPOSE_TRANSFER;
using kamino::internal::v1::LinkPurpose;
using ::testing::IsEmpty;

ChainRig::Options WithStranger(const std::string& identity) {
  ChainRig::Options options;
  options.stranger = identity;
  return options;
}

// n1 -> n2 -> n3, which serve, and n4, which joins where a test says so.
class Attacked {
 public:
  explicit Attacked(const std::string& stranger)
      : rig_(WithStranger(stranger)) {
    rig_.SetTap([this](const std::string& to, ChainRig::LinkId,
                       const ChainMessage& message, absl::string_view payload) {
      if (message.has_hello())
        hellos_[{to, message.hello().purpose()}] = message;
      if (message.has_append() && to == "n2") {
        append_ = message;
        entry_ = std::string(payload);
      }
    });
    rig_.StartAll();
    rig_.InstallView({"n1", "n2", "n3"});
    Execute();
  }

  ChainRig& rig() { return rig_; }

  // A Hello as a neighbour would send it.
  ChainMessage Hello(const std::string& to, LinkPurpose purpose) {
    const auto said = hellos_.find({to, purpose});
    CHECK(said != hellos_.end()) << to;
    return said->second;
  }
  const ChainMessage& append() const { return append_; }
  const std::string& entry() const { return entry_; }

  void Execute() {
    const auto issued =
        rig_.Submit(++client_, {Put("key", std::to_string(client_))});
    rig_.Settle();
    EXPECT_TRUE(issued->acknowledged()) << issued->outcome.status;
    for (const char* name : {"n1", "n2", "n3"}) {
      EXPECT_TRUE(rig_.up(name)) << rig_.fatal(name);
    }
  }

  // The numbers of its links, which are others once one was displaced.
  std::string LinksOf(const std::string& name) {
    std::string links;
    for (const auto& link : rig_.node(name).core().link_table().All()) {
      absl::StrAppend(&links, link.peer, " ", link.link,
                      link.connected ? "; " : " is not connected; ");
    }
    return links;
  }

  // It says that, and is told no more than that it is turned away.
  void ExpectGetsNothing(const std::string& to, const ChainMessage& hello) {
    const std::string before = LinksOf(to);
    const auto stranger = rig_.Talk(to);
    if (stranger->link != nullptr) {
      stranger->Say(hello);
      stranger->Say(append_, entry_);
      rig_.Settle(4);
      for (const ChainMessage& heard : stranger->heard) {
        EXPECT_TRUE(heard.has_reject()) << heard.ShortDebugString();
      }
    }
    EXPECT_EQ(LinksOf(to), before);
    Execute();
    EXPECT_EQ(LinksOf(to), before);
    EXPECT_EQ(rig_.Difference(), "");
  }

 private:
  ChainRig rig_;
  uint64_t client_ = 0;
  std::map<std::pair<std::string, LinkPurpose>, ChainMessage> hellos_;
  ChainMessage append_;
  std::string entry_;
};

// A peer with the certificate of another node, of another role, or none that is
// known to the links.
class StrangerTest : public ::testing::TestWithParam<const char*> {};

TEST_P(StrangerTest, IsNotSentTheHeap) {
  Attacked attacked(GetParam());
  attacked.rig().Invite("n4");
  attacked.rig().Settle(40);
  ChainMessage hello = attacked.Hello("n3", LINK_PURPOSE_TRANSFER);
  attacked.rig().Invite("n4", false);
  const uint64_t begun = attacked.rig().node("n3").core().transfer().begun;
  attacked.ExpectGetsNothing("n3", hello);
  hello.mutable_hello()->set_node_id("n8");
  attacked.ExpectGetsNothing("n3", hello);
  EXPECT_EQ(attacked.rig().node("n3").core().transfer().begun, begun);
}

TEST_P(StrangerTest, TakesNoNeighboursPlace) {
  Attacked attacked(GetParam());
  attacked.ExpectGetsNothing("n2", attacked.Hello("n2", LINK_PURPOSE_APPEND));
  attacked.ExpectGetsNothing("n3", attacked.Hello("n3", LINK_PURPOSE_APPEND));
  attacked.ExpectGetsNothing("n1",
                             attacked.Hello("n1", LINK_PURPOSE_COMPLETION));
}

INSTANTIATE_TEST_SUITE_P(All, StrangerTest,
                         ::testing::Values("kamino://rig/node/n9",
                                           "kamino://rig/writer/n1",
                                           "kamino://other/node/n1"));

// Runs in the clear, and with the node's own certificate.
class FormerIncarnationTest : public ::testing::TestWithParam<const char*> {};

TEST_P(FormerIncarnationTest, TakesNoNeighboursPlace) {
  Attacked attacked(GetParam());
  ChainMessage hello = attacked.Hello("n2", LINK_PURPOSE_APPEND);
  ASSERT_EQ(hello.hello().node_id(), "n1");
  const uint64_t life = hello.hello().incarnation();
  for (const uint64_t former : {life - 1, life + 1, uint64_t{0}}) {
    hello.mutable_hello()->set_incarnation(former);
    attacked.ExpectGetsNothing("n2", hello);
  }
}

INSTANTIATE_TEST_SUITE_P(All, FormerIncarnationTest,
                         ::testing::Values("", "kamino://rig/node/n1"));

TEST(AttacksTest, AHelloThatDoesNotFitDisplacesNothing) {
  Attacked attacked("");
  const ChainMessage fits = attacked.Hello("n2", LINK_PURPOSE_APPEND);
  ChainMessage hello = fits;
  hello.mutable_hello()->set_cluster_id("other");
  attacked.ExpectGetsNothing("n2", hello);
  hello = fits;
  hello.mutable_hello()->set_epoch(7);
  attacked.ExpectGetsNothing("n2", hello);
  hello = fits;
  hello.set_chain_id(2);
  attacked.ExpectGetsNothing("n2", hello);
  hello = fits;
  hello.set_view_id(hello.view_id() - 1);
  attacked.ExpectGetsNothing("n2", hello);
}

// It is told what the node holds, as the member would have to be.
TEST(AttacksTest, AHelloThatLacksEntriesDisplacesNothing) {
  Attacked attacked("");
  const std::string before = attacked.LinksOf("n2");
  ChainMessage hello = attacked.Hello("n2", LINK_PURPOSE_APPEND);
  hello.mutable_hello()->set_applied(0);
  const auto stranger = attacked.rig().Talk("n2");
  stranger->Say(hello);
  attacked.rig().Settle(4);
  attacked.Execute();
  EXPECT_EQ(attacked.LinksOf("n2"), before);
  EXPECT_EQ(attacked.rig().Difference(), "");
}

// In the clear, a peer that has seen all messages can pass for a member up to a
// point: the chain recovers from it.
TEST(AttacksTest, InTheClearAStrangerCanImpersonateAMember) {
  Attacked attacked("");
  const auto stranger = attacked.rig().Talk("n2");
  ChainMessage hello = attacked.Hello("n2", LINK_PURPOSE_APPEND);
  hello.mutable_hello()->set_applied(attacked.rig().ring("n1").applied());
  stranger->Say(hello);
  attacked.rig().Settle(2);
  EXPECT_THAT(stranger->heard, ::testing::Not(IsEmpty()));
  attacked.Execute();
  EXPECT_TRUE(stranger->closed);
  EXPECT_EQ(attacked.rig().Difference(), "");
}

TEST(AttacksTest, ABadEntryEndsItsLinkAndNoNode) {
  Attacked attacked("");
  ChainRig& rig = attacked.rig();
  const std::string before = attacked.LinksOf("n2");
  rig.ChangeNextEntry(
      "n1", "n2", [](std::string* entry) { (*entry)[entry->size() / 2] ^= 1; });
  attacked.Execute();
  EXPECT_TRUE(rig.changed());
  EXPECT_EQ(rig.node("n2").core().turned_down().malformed, 1u);
  EXPECT_NE(attacked.LinksOf("n2"), before);
  rig.ChangeNextEntry("n2", "n3", [](std::string* entry) { entry->clear(); });
  attacked.Execute();
  EXPECT_EQ(rig.node("n3").core().turned_down().malformed, 1u);
  EXPECT_EQ(rig.Difference(), "");
}

TEST(AttacksTest, APeerThatKeepsSendingBadEntriesMeetsGrowingPauses) {
  Attacked attacked("");
  ChainRig& rig = attacked.rig();
  bool damages = true;
  rig.SetFilter([&damages](const std::string&, const std::string& to,
                           ChainMessage* message, std::string* payload) {
    if (damages && to == "n2" && message->has_append()) payload->resize(8);
    return true;
  });
  const auto issued = rig.Submit(77, {Put("key", "late")});
  const auto malformed = [&rig] {
    return rig.node("n2").core().turned_down().malformed;
  };
  rig.Settle(100);
  const uint64_t soon = malformed();
  EXPECT_GE(soon, 4u);
  rig.Settle(100);
  const uint64_t later = malformed() - soon;
  EXPECT_LT(later, soon);
  EXPECT_FALSE(issued->acknowledged());
  damages = false;
  rig.Settle(100);
  EXPECT_TRUE(issued->acknowledged());
  EXPECT_EQ(rig.Difference(), "");
}

TEST(AttacksTest, APeerWithoutHelloIsIgnored) {
  Attacked attacked("");
  ChainRig& rig = attacked.rig();
  for (const replica::MessageRule& rule : replica::MessageRules()) {
    if (rule.message == ChainMessage::kHello ||
        rule.message == ChainMessage::kReject) {
      continue;
    }
    ChainMessage message;
    const auto* field = ChainMessage::descriptor()->FindFieldByNumber(
        static_cast<int>(rule.message));
    ASSERT_NE(field, nullptr);
    message.GetReflection()->MutableMessage(&message, field);
    message.set_chain_id(1);
    message.set_view_id(rig.view().id);
    for (const char* name : {"n1", "n2", "n3"}) {
      const auto stranger = rig.Talk(name);
      stranger->Say(message, rule.message == ChainMessage::kAppend
                                 ? attacked.entry()
                                 : "");
      rig.Settle(2);
      EXPECT_TRUE(stranger->closed) << field->name() << " at " << name;
      EXPECT_THAT(stranger->heard, IsEmpty()) << field->name();
    }
  }
  attacked.Execute();
  EXPECT_EQ(rig.Difference(), "");
}

}  // namespace
}  // namespace kamino::node
