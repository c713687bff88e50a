#include "client/cli/node_row.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/cluster_identity.h"

namespace kamino::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

kamino::v1::Member Node1() {
  kamino::v1::Member node;
  node.set_node_id("n1");
  node.set_role(kamino::v1::ROLE_HEAD);
  node.set_address("one:7001");
  return node;
}

StatusOfNode StatusOf(const std::string& node_id) {
  kamino::v1::GetNodeStatusResponse status;
  status.set_node_id(node_id);
  status.set_role(kamino::v1::ROLE_TAIL);
  status.set_applied(5);
  return status;
}

TEST(NodeRowTest, ARespondingNodeShowsItsState) {
  const StatusOfNode status = StatusOf("n1");
  EXPECT_FALSE(IsStranger(Node1(), status));
  const auto row = RowOf(Node1(), status);
  ASSERT_EQ(row.size(), 13u);
  EXPECT_EQ(row[0], "n1");
  EXPECT_EQ(row[1], "tail");
  EXPECT_EQ(row[7], "5");
  EXPECT_EQ(StrangerLine(Node1(), status), "");
}

TEST(NodeRowTest, ASilentOrRefusingNodeIsNoStranger) {
  const StatusOfNode silent = absl::UnavailableError("no connection");
  EXPECT_THAT(RowOf(Node1(), silent),
              ElementsAre("n1", "head", "one:7001", "unreachable"));
  EXPECT_EQ(StrangerLine(Node1(), silent), "");
  const StatusOfNode refused = absl::PermissionDeniedError("no role");
  EXPECT_THAT(RowOf(Node1(), refused),
              ElementsAre("n1", "head", "one:7001", "not allowed"));
  EXPECT_EQ(StrangerLine(Node1(), refused), "");
}

TEST(NodeRowTest, ANodeWithoutAViewIsNamed) {
  kamino::v1::GetNodeStatusResponse status;
  status.set_node_id("n1");
  EXPECT_THAT(NoViewLine(status), HasSubstr("n1 has no view yet"));
  status.mutable_header()->set_view_id(1);
  EXPECT_EQ(NoViewLine(status), "");
}

TEST(NodeRowTest, ANodeOfAnotherClusterIsReported) {
  const StatusOfNode status = rpc::OtherCluster("another one");
  EXPECT_TRUE(IsStranger(Node1(), status));
  EXPECT_THAT(RowOf(Node1(), status),
              ElementsAre("n1", "head", "one:7001", "other cluster"));
  EXPECT_THAT(StrangerLine(Node1(), status),
              HasSubstr("a node of another cluster answers at one:7001, the "
                        "address of n1: end it, or start n1 with another"));
}

// As if two DNS names were swapped.
TEST(NodeRowTest, AnotherNodesStateIsNotShownForTheMember) {
  const StatusOfNode status = StatusOf("n2");
  EXPECT_TRUE(IsStranger(Node1(), status));
  EXPECT_THAT(RowOf(Node1(), status),
              ElementsAre("n1", "head", "one:7001", "is n2"));
  EXPECT_THAT(StrangerLine(Node1(), status),
              HasSubstr("n2 answers at one:7001, the address of n1: correct"));
}

}  // namespace
}  // namespace kamino::client
