#include "client/cli/transfer_line.h"

#include "gtest/gtest.h"

namespace kamino::client {
namespace {

TEST(TransferLineTest, ShowsTheProgressOfTransfers) {
  kamino::v1::GetNodeStatusResponse status;
  status.set_node_id("n3");
  EXPECT_EQ(TransferLine(status), "");
  kamino::v1::TransferStatus* const transfer = status.mutable_transfer();
  transfer->set_sending(true);
  transfer->set_pass(2);
  transfer->set_bytes_left((18u << 20) + 5000);
  EXPECT_EQ(TransferLine(status), "a node joins by n3: pass 2, 18 MiB left\n");
  auto* const link = status.add_links();
  link->set_peer("n4");
  link->set_role(kamino::v1::LINK_ROLE_JOINING);
  transfer->set_of_changes(true);
  transfer->set_pages(5243);
  EXPECT_EQ(TransferLine(status), "n4 catches up by n3: 634 of 5243 pages\n");
  transfer->set_pages(10);  // others have changed since
  EXPECT_EQ(TransferLine(status), "n4 catches up by n3: 0 of 4609 pages\n");
}

}  // namespace
}  // namespace kamino::client
