#include "replica/link/chain_frame.h"

#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::ChainMessage;

ChainMessage Append() {
  ChainMessage message;
  message.set_view_id(300);
  message.set_chain_id(1);
  message.mutable_append();
  return message;
}

TEST(ChainFrameTest, CarriesAMessageAndItsPayload) {
  const std::string frame = EncodeFrameHead(Append()) + "payload";
  const auto read = DecodeFrame(frame);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->message.view_id(), 300u);
  EXPECT_EQ(read->message.chain_id(), 1u);
  EXPECT_TRUE(read->message.has_append());
  EXPECT_EQ(read->payload, "payload");
  EXPECT_EQ(read->payload.data(), frame.data() + frame.size() - 7);
}

TEST(ChainFrameTest, OnlyAnAppendCarriesAPayload) {
  ChainMessage message = Append();
  message.mutable_append_ack()->set_received(3);
  const std::string frame = EncodeFrameHead(message);
  EXPECT_TRUE(DecodeFrame(frame).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(DecodeFrame(frame + "x").status()));
}

TEST(ChainFrameTest, WrongLengthsAreRefused) {
  const std::string frame = EncodeFrameHead(Append());
  for (size_t length = 0; length < frame.size(); ++length) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(DecodeFrame(frame.substr(0, length)).status()))
        << length;
  }
  for (const uint32_t lie : {0u, 1u, 2u, 100u, 1u << 31, ~0u}) {
    std::string changed = frame;
    std::memcpy(changed.data(), &lie, sizeof(lie));
    EXPECT_FALSE(DecodeFrame(changed).ok()) << lie;
  }
}

}  // namespace
}  // namespace kamino::replica
