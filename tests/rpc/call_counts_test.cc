#include "rpc/call_counts.h"

#include <map>

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
  for (const int code : {0, 0, 14})
    counts.Of(kGet)->Add(code, absl::Milliseconds(3));
  // Codes that a peer may make up count as unknown.
  for (const int code : {-1, 17, 99})
    counts.Of(kGet)->Add(code, absl::Milliseconds(3));
  const CallCounts::Method get = counts.Read(kGet);
  EXPECT_EQ(get.ended[0], 2u);
  EXPECT_EQ(get.ended[14], 1u);
  EXPECT_EQ(get.ended[2], 3u);
  counts.Of("/a")->Add(0, absl::Milliseconds(3));
  ASSERT_EQ(counts.Read().size(), 2u);
  EXPECT_EQ(counts.Read()[0].name, "/a");
  EXPECT_EQ(counts.Read()[1].ended, get.ended);
}

TEST(CallCountsTest, ReportsLatencies) {
  CallCounts counts;
  counts.Of(kGet)->Add(0, absl::Milliseconds(3));
  counts.Of(kGet)->Add(0, absl::Milliseconds(4));
  counts.Of(kGet)->Add(14, absl::Seconds(1));
  std::map<int, metrics::LatencySnapshot> took;
  counts.Visit([&](absl::string_view method, int code,
                   const metrics::LatencySnapshot& snapshot) {
    EXPECT_EQ(method, kGet);
    took[code] = snapshot;
  });
  ASSERT_EQ(took.size(), 2u);
  EXPECT_EQ(took[0].count(), 2u);
  EXPECT_EQ(took[0].sum_nanos, 7'000'000u);
  EXPECT_EQ(took[14].count(), 1u);
}

TEST(CallCountsTest, AMessageHasItsMethod) {
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
