#include "transport/socket/preface.h"

#include <cstring>

#include "gtest/gtest.h"

namespace kamino::transport {
namespace {

Preface Good() {
  return MakePreface(SocketKind::kShm, SocketSide::kConnector, 4096, 65536, 5);
}

absl::Status Check(const Preface& preface, size_t received = kPrefaceBytes) {
  return CheckPreface(preface, received, SocketKind::kShm,
                      SocketSide::kConnector);
}

// The bytes of the worked example in docs/formats/link.md.
TEST(PrefaceTest, TheLayoutMatchesTheDocument) {
  const Preface preface = Good();
  const unsigned char expected[kPrefaceBytes] = {
      'k', 'm', 'n', 'o', 2,    0,    2,    0,    0,    0x10, 0,    0,   1, 0,
      0,   0,   0,   0,   1,    0,    0,    0,    0,    0,    5,    0,   0, 0,
      0,   0,   0,   0,   0x4f, 0x3d, 0xc0, 0xdb, 0x98, 0x2e, 0xe3, 0x89};
  EXPECT_EQ(std::memcmp(&preface, expected, kPrefaceBytes), 0);
}

TEST(PrefaceTest, EveryPrefixOfAValidPrefaceIsAccepted) {
  for (size_t received = 1; received <= kPrefaceBytes; ++received) {
    EXPECT_TRUE(Check(Good(), received).ok()) << received;
  }
}

TEST(PrefaceTest, AForeignProtocolIsRefusedByItsFirstBytes) {
  Preface preface = {};
  std::memcpy(&preface, "GET / HTTP/1.1\r\n", 16);
  for (size_t received : {1, 2, 16, 32}) {
    const absl::Status status = Check(preface, received);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << received;
  }
  EXPECT_NE(Check(preface, 5).message().find("GET /"), std::string::npos);
}

TEST(PrefaceTest, EveryFlippedBitIsDetected) {
  for (size_t bit = 0; bit < 8 * kPrefaceBytes; ++bit) {
    Preface preface = Good();
    reinterpret_cast<unsigned char*>(&preface)[bit / 8] ^= 1 << bit % 8;
    EXPECT_TRUE(absl::IsFailedPrecondition(Check(preface))) << bit;
  }
}

TEST(PrefaceTest, AnUnsuitablePrefaceIsRefusedWithTheReason) {
  struct {
    Preface preface;
    const char* says;
  } cases[] = {
      {MakePreface(SocketKind::kTcp, SocketSide::kConnector, 4096, 0),
       "kind 1"},
      {MakePreface(SocketKind::kShm, SocketSide::kAcceptor, 4096, 65536),
       "echo"},
      {MakePreface(SocketKind::kShm, SocketSide::kConnector, 0, 65536),
       "accepts"},
  };
  for (const auto& one : cases) {
    const absl::Status status = Check(one.preface);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << one.says;
    EXPECT_NE(status.message().find(one.says), std::string::npos) << status;
  }
}

// Another version may compute its checksum otherwise; it is named all the same.
TEST(PrefaceTest, AnUnknownVersionIsNamed) {
  Preface preface = Good();
  preface.version = 7;
  EXPECT_NE(Check(preface).message().find("version 7"), std::string::npos);
}

}  // namespace
}  // namespace kamino::transport
