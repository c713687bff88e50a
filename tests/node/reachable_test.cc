#include "node/reachable.h"

#include <string>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::node {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// On Debian a machine's own name is 127.0.1.1 to itself.
class ReachableTest : public ::testing::Test {
 protected:
  ReachableTest() {
    flags_.transport = "tcp";
    flags_.listen = "n1:7001";
    flags_.link_listen = "n1:7002";
    flags_.managers = {"10.0.0.9:7000"};
    bound_.service = {"127.0.1.1:7001"};
    bound_.links = {"127.0.1.1:7002"};
  }

  std::string Refusal() {
    const absl::Status checked =
        CheckReachable(flags_, bound_, [](const std::string& host) {
          return host == "localhost" || absl::StartsWith(host, "127.");
        });
    return std::string(checked.message());
  }

  NodeFlags flags_;
  BoundAddresses bound_;
};

TEST_F(ReachableTest, LoopbackIsRefusedWhereManagersAreElsewhere) {
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("--link_listen is n1:7002, which is "
                                         "bound to 127.0.1.1:7002"),
                               HasSubstr("/etc/hosts")));
  bound_.links = {"10.0.0.1:7002"};
  EXPECT_THAT(Refusal(), HasSubstr("--listen is n1:7001"));
  bound_.service = {"10.0.0.1:7001"};
  EXPECT_EQ(Refusal(), "");
  flags_.peer_listen = "n1:7003";
  bound_.peers = {"[::1]:7003"};
  EXPECT_THAT(Refusal(), HasSubstr("--peer_listen is n1:7003, which is bound "
                                   "to [::1]:7003"));
}

TEST_F(ReachableTest, LinksOnLoopbackAreRefusedWhereClientsAreElsewhere) {
  flags_.managers = {"127.0.0.1:7000"};
  bound_.service = {"0.0.0.0:7001"};
  EXPECT_THAT(Refusal(), HasSubstr("--link_listen"));
  bound_.service = {"127.0.0.1:7001", "10.0.0.1:7001"};
  EXPECT_THAT(Refusal(), HasSubstr("--link_listen"));
  bound_.service = {"127.0.0.1:7001"};
  flags_.advertise = "shop.example.net:7001";
  EXPECT_THAT(Refusal(), HasSubstr("--link_listen"));
  flags_.link_advertise = "shop.example.net:7002";
  EXPECT_EQ(Refusal(), "");
}

TEST_F(ReachableTest, ChainsOfOneMachineAreOnLoopback) {
  flags_.managers = {"127.0.0.1:7000", "localhost:7010"};
  EXPECT_EQ(Refusal(), "");
  flags_.managers.push_back("10.0.0.9:7000");
  EXPECT_NE(Refusal(), "");
  flags_.transport = "shm";
  EXPECT_EQ(Refusal(), "");
}

TEST_F(ReachableTest, WildcardAddressesAreReachable) {
  bound_.service = {"0.0.0.0:7001"};
  bound_.links = {"[::]:7002"};
  EXPECT_EQ(Refusal(), "");
}

TEST(IsOfThisMachineTest, KnowsItsAddresses) {
  EXPECT_TRUE(IsOfThisMachine("localhost"));
  EXPECT_TRUE(IsOfThisMachine("127.0.0.1"));
  EXPECT_TRUE(IsOfThisMachine("127.0.1.1"));
  EXPECT_TRUE(IsOfThisMachine("::1"));
  EXPECT_FALSE(IsOfThisMachine("192.0.2.1"));
  EXPECT_FALSE(IsOfThisMachine("2001:db8::1"));
}

}  // namespace
}  // namespace kamino::node
