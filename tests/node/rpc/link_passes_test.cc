// Passes for chain links, over calls with certificates.
#include "node/rpc/link_passes.h"

#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/server.h"
#include "tests/faults/planted.h"
#include "tests/patience.h"
#include "tests/security/test_certificates.h"

namespace kamino::node {
namespace {

using security::Role;
using ::testing::HasSubstr;
using transport::PassSource;

constexpr uint64_t kLife = 5;

// A node with a server for others.
struct Node {
  std::shared_ptr<const rpc::Credentials> credentials;
  std::shared_ptr<LinkPasses> passes;
  std::unique_ptr<rpc::Server> server;

  std::string link() const {
    return absl::StrCat("/run/", server->port(), ".sock");
  }
  ~Node() {
    if (passes != nullptr) passes->Stop();
    server.reset();
  }
};

class LinkPassesTest : public ::testing::Test {
 protected:
  LinkPassesTest() {
    view_.id = 3;
    for (const char* name : {"n1", "n2"}) {
      Add(name);
      membership::Member member;
      member.node_id = name;
      member.incarnation = kLife;
      const std::string at =
          absl::StrCat("127.0.0.1:", nodes_[name].server->port());
      member.service_address = at;
      member.link_addresses["shm"] = nodes_[name].link() + "#abcd";
      view_.members.push_back(member);
    }
    Add("n3");
    for (auto& [name, node] : nodes_) node.passes->SetView(view_);
  }

  void Add(const std::string& name) {
    Node& node = nodes_[name];
    node.credentials =
        *rpc::Credentials::Make(authority_.Load({"c", Role::kNode, name}));
    node.passes =
        std::make_shared<LinkPasses>("c", kOnlyChain, "abcd", node.credentials);
    node.passes->SetSelf(name, kLife);
    rpc::ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.credentials = node.credentials;
    node.server = *rpc::Server::Start(options, {node.passes.get()});
  }

  absl::StatusOr<PassSource::Granted> Ask(const std::string& from,
                                          const std::string& address) {
    absl::StatusOr<PassSource::Granted> granted;
    absl::Notification done;
    nodes_[from].passes->Ask(address, Patience(absl::Seconds(20)),
                             [&](absl::StatusOr<PassSource::Granted> reply) {
                               granted = std::move(reply);
                               done.Notify();
                             });
    done.WaitForNotification();
    return granted;
  }

  security::TestAuthority authority_;
  membership::View view_;
  std::map<std::string, Node> nodes_;
};

TEST_F(LinkPassesTest, APassIsForItsRequester) {
  const auto granted = Ask("n1", nodes_["n2"].link());
  ASSERT_TRUE(granted.ok()) << granted.status();
  EXPECT_EQ(ToString(granted->issuer.identity()), "kamino://c/node/n2");
  const auto& registry = nodes_["n2"].passes->registry();
  auto taken = registry->Take(granted->pass.token);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(ToString(taken->holder.identity()), "kamino://c/node/n1");
  EXPECT_EQ(taken->proof, granted->pass.proof);
  EXPECT_FALSE(registry->Take(granted->pass.token).ok());  // once
}

TEST_F(LinkPassesTest, AJoiningNodeGetsAPass) {
  EXPECT_TRUE(Ask("n3", nodes_["n2"].link()).ok());
}

// Two machines, with the same paths on both.
TEST_F(LinkPassesTest, TheNodeOfThisHostIsAsked) {
  membership::View view = view_;
  view.id = 4;
  membership::Member other = view.members[0];
  ASSERT_EQ(other.node_id, "n1");
  other.link_addresses["shm"] = nodes_["n2"].link() + "#other";
  view.members[0] = other;
  for (auto& [name, node] : nodes_) node.passes->SetView(view);
  const auto granted = Ask("n3", nodes_["n2"].link());
  ASSERT_TRUE(granted.ok()) << granted.status();
  EXPECT_EQ(ToString(granted->issuer.identity()), "kamino://c/node/n2");
}

// With --transport=shm, for nodes that cannot tell that they share a host.
TEST_F(LinkPassesTest, AMemberWithoutHostIdIsAsked) {
  membership::View view = view_;
  view.id = 4;
  view.members[1].link_addresses["shm"] = nodes_["n2"].link() + "#";
  for (auto& [name, node] : nodes_) node.passes->SetView(view);
  const auto granted = Ask("n1", nodes_["n2"].link());
  ASSERT_TRUE(granted.ok()) << granted.status();
  EXPECT_EQ(ToString(granted->issuer.identity()), "kamino://c/node/n2");
}

TEST_F(LinkPassesTest, AnUnknownAddressIsNotAsked) {
  const auto granted = Ask("n1", "/run/elsewhere.sock");
  EXPECT_TRUE(absl::IsUnavailable(granted.status())) << granted.status();
}

TEST_F(LinkPassesTest, AFormerIncarnationGetsNoPass) {
  nodes_["n1"].passes->SetSelf("n1", kLife - 1);
  const auto granted = Ask("n1", nodes_["n2"].link());
  EXPECT_TRUE(absl::IsFailedPrecondition(granted.status()));
  EXPECT_THAT(std::string(granted.status().message()),
              HasSubstr("n1 in another life than that of view 3"));
}

TEST_F(LinkPassesTest, ANodeWithAnOldViewGetsNoPass) {
  membership::View later = view_;
  later.id = 4;
  nodes_["n2"].passes->SetView(later);
  const auto granted = Ask("n1", nodes_["n2"].link());
  EXPECT_TRUE(absl::IsUnavailable(granted.status())) << granted.status();
}

TEST_F(LinkPassesTest, ANodeCannotAskForAnother) {
  nodes_["n3"].passes->SetSelf("n1", kLife);
  const auto granted = Ask("n3", nodes_["n2"].link());
  EXPECT_TRUE(absl::IsPermissionDenied(granted.status())) << granted.status();
}

// Removes the check that refuses it.
TEST_F(LinkPassesTest, ANodeThatAsksForAnotherIsDetected) {
  const faults::Planted planted("certificates-of-any-node-speak-for-one");
  nodes_["n3"].passes->SetSelf("n1", kLife);
  EXPECT_TRUE(Ask("n3", nodes_["n2"].link()).ok());
}

}  // namespace
}  // namespace kamino::node
