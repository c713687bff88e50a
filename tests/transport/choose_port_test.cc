#include "transport/verbs/choose_port.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/verbs/verbs_format.h"

namespace kamino::transport {
namespace {

using ::testing::HasSubstr;

GidEntry Entry(int index, GidKind kind, bool link_local) {
  GidEntry entry;
  entry.index = index;
  entry.kind = kind;
  entry.gid = link_local ? Gid{0xfe, 0x80} : Gid{0x20, 0x01};
  return entry;
}

PortInfo Ethernet(int number, bool active, std::vector<GidEntry> gids) {
  PortInfo port;
  port.number = number;
  port.active = active;
  port.ethernet = true;
  port.gids = std::move(gids);
  return port;
}

std::vector<DevicePorts> Host() {
  return {
      {"a", {Ethernet(1, false, {Entry(0, GidKind::kRoceV2, false)})}},
      {"b",
       {Ethernet(
            1, true,
            {Entry(0, GidKind::kRoceV1, true), Entry(1, GidKind::kRoceV2, true),
             Entry(2, GidKind::kRoceV1, false),
             Entry(3, GidKind::kRoceV2, false)}),
        Ethernet(2, true, {Entry(0, GidKind::kRoceV1, false)})}},
  };
}

TEST(ChoosePortTest, TakesTheFirstActivePortAndItsBestGid) {
  auto choice = ChoosePort(Host(), {});
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->device, "b");
  EXPECT_EQ(choice->port.number, 1);
  EXPECT_EQ(choice->gid.index, 3);
  EXPECT_THAT(Describe(*choice),
              HasSubstr("b port 1, RoCE v2, GID 3 (2001::)"));
}

TEST(ChoosePortTest, PrefersVersionTwoEvenWhenLinkLocal) {
  const std::vector<DevicePorts> host = {
      {"b",
       {Ethernet(1, true,
                 {Entry(0, GidKind::kRoceV1, false),
                  Entry(1, GidKind::kRoceV2, true)})}}};
  EXPECT_EQ(ChoosePort(host, {})->gid.index, 1);
}

TEST(ChoosePortTest, InfiniBandTakesItsFirstGid) {
  PortInfo port;
  port.active = true;
  port.gids = {Entry(0, GidKind::kInfiniBand, true),
               Entry(1, GidKind::kInfiniBand, false)};
  const std::vector<DevicePorts> host = {{"mlx5_0", {port}}};
  EXPECT_EQ(ChoosePort(host, {})->gid.index, 0);
}

TEST(ChoosePortTest, AWishSelectsDevicePortAndGid) {
  PortWish wish;
  wish.device = "b";
  wish.port = 2;
  EXPECT_EQ(ChoosePort(Host(), wish)->port.number, 2);
  wish.port = 1;
  wish.gid_index = 2;
  EXPECT_EQ(ChoosePort(Host(), wish)->gid.index, 2);
}

TEST(ChoosePortTest, ErrorsListThePortsThatExist) {
  PortWish wish;
  wish.device = "a";
  const absl::Status inactive = ChoosePort(Host(), wish).status();
  EXPECT_TRUE(absl::IsNotFound(inactive));
  EXPECT_THAT(std::string(inactive.message()),
              HasSubstr("a port 1 (not active)"));
  wish.device = "b";
  wish.gid_index = 9;
  EXPECT_THAT(std::string(ChoosePort(Host(), wish).status().message()),
              HasSubstr("b port 1 (no such GID)"));
  EXPECT_THAT(std::string(ChoosePort({}, {}).status().message()),
              HasSubstr("none"));
}

TEST(NoticeTest, PositionsSurviveTheirLowBits) {
  for (uint64_t last : {uint64_t{0}, uint64_t{8} << kPositionBits,
                        (uint64_t{8} << kPositionBits) - 8, uint64_t{1} << 40,
                        (uint64_t{1} << 40) - 64}) {
    for (uint64_t ahead :
         {uint64_t{0}, uint64_t{8}, uint64_t{4096}, uint64_t{kMostVerbsRing}}) {
      const uint32_t immediate = EncodeNotice(Notice::kHead, last + ahead);
      EXPECT_EQ(NoticeOf(immediate), Notice::kHead);
      EXPECT_EQ(PositionAfter(last, immediate), last + ahead);
    }
  }
}

// The numbers of docs/formats/link.md.
TEST(NoticeTest, TheLayoutMatchesTheDocument) {
  EXPECT_EQ(EncodeNotice(Notice::kTail, 16), 0x00000002u);
  EXPECT_EQ(EncodeNotice(Notice::kHead, 16), 0x20000002u);
  EXPECT_EQ(EncodeNotice(Notice::kWant, 0), 0x40000000u);
  EXPECT_EQ(EncodeNotice(Notice::kAnswer, 8), 0x60000001u);
  EXPECT_EQ(EncodeNotice(Notice::kHello, 0), 0x80000000u);
  EXPECT_EQ(EncodeNotice(Notice::kBye, 0), 0xa0000000u);
}

}  // namespace
}  // namespace kamino::transport
