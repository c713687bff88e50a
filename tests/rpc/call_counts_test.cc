#include "rpc/call_counts.h"

#include "gtest/gtest.h"
#include "kamino/v1/admin.pb.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::rpc {
namespace {

constexpr char kGet[] = "/kamino.v1.KaminoService/Get";

TEST(CallCountsTest, CountsByMethodAndCode) {
  CallCounts counts;
  EXPECT_EQ(counts.Read(kGet).ended[0], 0u);
  EXPECT_TRUE(counts.Read().empty());
  for (const int code : {0, 0, 14}) counts.Of(kGet)->Add(code);
  // What a peer may make up counts as unknown.
  for (const int code : {-1, 17, 99}) counts.Of(kGet)->Add(code);
  const CallCounts::Method get = counts.Read(kGet);
  EXPECT_EQ(get.ended[0], 2u);
  EXPECT_EQ(get.ended[14], 1u);
  EXPECT_EQ(get.ended[2], 3u);
  counts.Of("/a")->Add(0);
  ASSERT_EQ(counts.Read().size(), 2u);
  EXPECT_EQ(counts.Read()[0].name, "/a");
  EXPECT_EQ(counts.Read()[1].ended, get.ended);
}

TEST(CallCountsTest, AMessageTellsItsMethod) {
  EXPECT_EQ(MethodOf(*kamino::v1::GetRequest::descriptor()), kGet);
  EXPECT_EQ(MethodOf(*kamino::v1::GetResponse::descriptor()), kGet);
  EXPECT_EQ(MethodOf(*kamino::v1::ScanResponse::descriptor()),
            "/kamino.v1.KaminoService/Scan");
  EXPECT_EQ(MethodOf(*kamino::v1::AddNodeRequest::descriptor()),
            "/kamino.v1.AdminService/AddNode");
  EXPECT_DEATH(MethodOf(*kamino::v1::AdminResponse::descriptor()),
               "of two methods");
  EXPECT_DEATH(MethodOf(*kamino::v1::Chain::descriptor()), "of no method");
}

}  // namespace
}  // namespace kamino::rpc
