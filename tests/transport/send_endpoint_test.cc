// The bytes of one end of a verbs link without rings.
#include "transport/verbs/send_endpoint.h"

#include <string>

#include "gtest/gtest.h"

namespace kamino::transport {
namespace {

VerbsEndpoint Example() {
  VerbsEndpoint end;
  end.version = 1;
  end.device = "mlx5_0";
  end.address.number = 0x123456;
  end.address.psn = 0xabcdef;
  end.address.lid = 0x1234;
  end.address.gid = {0xfe, 0x80, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  end.address.kind = GidKind::kRoceV2;
  end.address.mtu = 4096;
  end.window = 16;
  end.buffer_bytes = 4096;
  end.max_message = 5 << 20;
  end.token = {0x0123456789abcdef, 0xfedcba9876543210};
  return end;
}

TEST(SendEndpointTest, RoundTrips) {
  const VerbsEndpoint was = Example();
  const auto is = DecodeSendEndpoint(EncodeSendEndpoint(was));
  ASSERT_TRUE(is.ok()) << is.status();
  EXPECT_EQ(is->version, was.version);
  EXPECT_EQ(is->device, was.device);
  EXPECT_EQ(is->address.number, was.address.number);
  EXPECT_EQ(is->address.psn, was.address.psn);
  EXPECT_EQ(is->address.lid, was.address.lid);
  EXPECT_EQ(is->address.gid, was.address.gid);
  EXPECT_EQ(is->address.kind, was.address.kind);
  EXPECT_EQ(is->address.mtu, was.address.mtu);
  EXPECT_EQ(is->window, was.window);
  EXPECT_EQ(is->buffer_bytes, was.buffer_bytes);
  EXPECT_EQ(is->max_message, was.max_message);
  EXPECT_EQ(is->token, was.token);
}

// As docs/formats/link.md lays it out.
TEST(SendEndpointTest, TheLayoutMatchesTheDocument) {
  const std::string bytes = EncodeSendEndpoint(Example());
  ASSERT_EQ(bytes.size(), 96u);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\1\0\0\0\x56\x34\x12\0", 8));
  EXPECT_EQ(bytes.substr(12, 4), std::string("\x34\x12\2\0", 4));
  EXPECT_EQ(bytes.substr(16, 2), "\xfe\x80");
  EXPECT_EQ(bytes.substr(56, 2), "\xef\xcd");
  EXPECT_EQ(bytes.substr(64, 2), "\x10\x32");
  EXPECT_EQ(bytes.substr(72, 7), std::string("mlx5_0\0", 7));
}

TEST(SendEndpointTest, InvalidBytesAreRefused) {
  const std::string good = EncodeSendEndpoint(Example());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(DecodeSendEndpoint(good.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(DecodeSendEndpoint(good + '\0').ok());
  // The top bytes of the numbers, the kind, the zeros.
  for (size_t at : {7, 11, 14, 44, 47}) {
    std::string bad = good;
    bad[at] = 9;
    EXPECT_TRUE(absl::IsFailedPrecondition(DecodeSendEndpoint(bad).status()))
        << at;
  }
}

TEST(SendEndpointTest, ANameIsPrintable) {
  VerbsEndpoint end = Example();
  end.device = "a\nb\x80 c" + std::string(100, 'x');
  const auto is = DecodeSendEndpoint(EncodeSendEndpoint(end));
  ASSERT_TRUE(is.ok());
  EXPECT_EQ(is->device, "a?b??c" + std::string(18, 'x'));
}

}  // namespace
}  // namespace kamino::transport
