#include "client/cli/heap_line.h"

#include "gtest/gtest.h"

namespace kamino::client {
namespace {

using kamino::v1::GetNodeStatusResponse;

GetNodeStatusResponse Status(uint64_t free, uint64_t reserve_free, bool full) {
  GetNodeStatusResponse status;
  status.set_node_id("n1");
  status.mutable_heap_room()->set_free_bytes(free);
  status.mutable_heap_room()->set_reserve_bytes(32 << 10);
  status.mutable_heap_room()->set_reserve_free_bytes(reserve_free);
  status.mutable_heap_room()->set_full(full);
  return status;
}

TEST(HeapLineTest, IsEmptyWithoutAReserve) {
  GetNodeStatusResponse status;
  status.set_heap_bytes_used(10);
  status.set_heap_bytes_total(10);
  EXPECT_EQ(HeapLine(status), "");
}

TEST(HeapLineTest, ShowsTheFreeSpace) {
  EXPECT_EQ(
      HeapLine(Status(5 << 20, 32 << 10, false)),
      "heap of n1: 5.0 MiB free, 32.0 KiB of it the reserve for requests that "
      "free room\n");
}

TEST(HeapLineTest, ShowsAFullHeap) {
  EXPECT_EQ(HeapLine(Status(33 << 10, 32 << 10, true)),
            "heap of n1: full, 33.0 KiB free, 32.0 KiB of it the reserve for "
            "requests that free room; writes that take room are refused: "
            "delete something (docs/operate/operations.md, A full heap)\n");
}

TEST(HeapLineTest, ShowsAUsedReserve) {
  EXPECT_EQ(HeapLine(Status(20 << 10, 8 << 10, true)),
            "heap of n1: full, 20.0 KiB free, 20.0 KiB of it the reserve for "
            "requests that free room (8.0 KiB of 32.0 KiB in whole pages); "
            "writes that take room are refused: delete something "
            "(docs/operate/operations.md, A full heap)\n");
}

}  // namespace
}  // namespace kamino::client
