#include "transport/tcp/frame.h"

#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace kamino::transport {
namespace {

absl::Span<const std::byte> Bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// The bytes of the worked example in docs/formats/link.md.
TEST(FrameTest, TheHeadMatchesTheDocument) {
  const FrameHead head = MakeFrameHead(Bytes("h"), Bytes("i"));
  const unsigned char expected[kFrameHeadBytes] = {
      0x6b, 0x46, 0x72, 0x4d, 0x02, 0,    0,    0,
      0x7f, 0xc9, 0x2d, 0x43, 0x52, 0xe9, 0x6c, 0x01};
  EXPECT_EQ(std::memcmp(&head, expected, kFrameHeadBytes), 0);
}

TEST(FrameTest, TheChecksumDoesNotDependOnTheSplit) {
  const std::string message(1000, 'm');
  const FrameHead whole = MakeFrameHead(Bytes(message), {});
  // More than once each: what a call leaves on the stack is no matter for the
  // next one of the same length.
  for (size_t cut : {0u, 1u, 500u, 1000u, 500u, 1u, 500u, 0u, 500u, 500u}) {
    const FrameHead head = MakeFrameHead(Bytes(message.substr(0, cut)),
                                         Bytes(message.substr(cut)));
    EXPECT_EQ(std::memcmp(&head, &whole, sizeof(head)), 0) << cut;
    EXPECT_TRUE(CheckFrame(head, Bytes(message)).ok()) << cut;
  }
}

TEST(FrameTest, TheHeadIsCheckedBeforeTheMessageArrives) {
  FrameHead head = MakeFrameHead(Bytes("hello"), {});
  EXPECT_TRUE(CheckFrameHead(head, 5).ok());
  EXPECT_TRUE(absl::IsDataLoss(CheckFrameHead(head, 4)));
  head.length = ~uint32_t{0};
  EXPECT_TRUE(absl::IsDataLoss(CheckFrameHead(head, size_t{1} << 30)));
  head = MakeFrameHead(Bytes("hello"), {});
  head.magic ^= 1;
  EXPECT_TRUE(absl::IsDataLoss(CheckFrameHead(head, 5)));
}

TEST(FrameTest, EveryFlippedBitIsDetected) {
  const std::string message = "a message of some length";
  const FrameHead head = MakeFrameHead(Bytes(message), {});
  for (size_t bit = 0; bit < 8 * message.size(); ++bit) {
    std::string changed = message;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(absl::IsDataLoss(CheckFrame(head, Bytes(changed)))) << bit;
  }
}

// Zeros are what a lost page looks like.
TEST(FrameTest, TheChecksumCoversTheLength) {
  const FrameHead of_four = MakeFrameHead(Bytes(std::string(4, '\0')), {});
  const FrameHead of_none = MakeFrameHead({}, {});
  EXPECT_TRUE(CheckFrame(of_none, {}).ok());
  EXPECT_TRUE(absl::IsDataLoss(CheckFrame(of_four, {})));
}

}  // namespace
}  // namespace kamino::transport
