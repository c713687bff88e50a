// Members' addresses in a node's hub of links.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node/driver/link_hub.h"

namespace kamino::node {
namespace {

using ::testing::ElementsAre;

class QuietListener final : public transport::Listener {
 public:
  const std::string& address() const override { return address_; }

 private:
  const std::string address_ = "127.0.0.1:7002";
};

// Notes what is expected, and makes no link.
class ExpectingTransport final : public transport::Transport {
 public:
  explicit ExpectingTransport(std::vector<std::string>* expected)
      : expected_(expected) {}

  absl::StatusOr<std::unique_ptr<transport::Listener>> Listen(
      const std::string&, transport::AcceptCallback) override {
    return std::make_unique<QuietListener>();
  }
  absl::StatusOr<std::shared_ptr<transport::Link>> Connect(
      const std::string&, std::shared_ptr<transport::LinkHandler>) override {
    return absl::UnavailableError("it makes none");
  }
  void Expect(const std::string& address) override {
    expected_->push_back(address);
  }

 private:
  std::vector<std::string>* const expected_;
};

// A name server may hang when a member has died and others need new links.
TEST(LinkAddressesTest, MemberAddressesAreExpectedBeforeUse) {
  std::vector<std::string> expected;
  LinkHub::Options options;
  options.offers.push_back(
      {transport::TransportFactory(
           {.name = "tcp"},
           [&](const transport::TransportOptions&)
               -> absl::StatusOr<std::unique_ptr<transport::Transport>> {
             return std::make_unique<ExpectingTransport>(&expected);
           }),
       "a"});
  const auto hub = LinkHub::Create(options, {});
  ASSERT_TRUE(hub.ok()) << hub.status();
  membership::Member b;
  b.node_id = "b";
  b.link_addresses["tcp"] = "b.example.net:7002";
  b.link_addresses["shm"] = "/b/link.sock#here";
  membership::Member c = b;
  c.node_id = "c";
  c.link_addresses["tcp"] = "c.example.net:7002";
  (*hub)->Expect({b, c});
  EXPECT_THAT(expected,
              ElementsAre("b.example.net:7002", "c.example.net:7002"));
}

}  // namespace
}  // namespace kamino::node
