#include "proto/session_frame.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::session {
namespace {

using ::testing::HasSubstr;

std::string Bytes(absl::string_view hex) {
  std::string digits;
  for (char c : hex) {
    if (c != ' ') digits.push_back(c);
  }
  return absl::HexStringToBytes(digits);
}

// The example of docs/formats/session.md.
TEST(SessionFrameTest, EncodesThePutOfTheDocument) {
  FrameWriter requests(FrameKind::kRequests);
  const std::string body = Bytes("12 01 61 1a 03 61 62 63");
  requests.Add(Request{2, Method::kPut, 0, 5, body});
  EXPECT_EQ(requests.Take(),
            Bytes("4b 53 01 03  01 00 00 00  30 00 00 00  00 00 00 00"
                  "20 00 00 00  02 00 00 00  03 00  00 00  00 00 00 00"
                  "05 00 00 00 00 00 00 00  12 01 61 1a 03 61 62 63"));
  FrameWriter responses(FrameKind::kResponses);
  responses.Add(Response{2, 0, 77, ""});
  EXPECT_EQ(responses.Take(),
            Bytes("4b 53 01 04  01 00 00 00  28 00 00 00  00 00 00 00"
                  "18 00 00 00  02 00 00 00  00 00  00 00 00 00 00 00"
                  "4d 00 00 00 00 00 00 00"));
  EXPECT_EQ(MakeFrame(FrameKind::kHello, Bytes("08 01 10 01")),
            Bytes("4b 53 01 01  01 00 00 00  14 00 00 00  00 00 00 00"
                  "08 01 10 01"));
}

TEST(SessionFrameTest, MessagesRoundTrip) {
  FrameWriter writer(FrameKind::kRequests);
  EXPECT_TRUE(writer.empty());
  std::vector<std::string> bodies;
  for (size_t size : {0, 1, 7, 8, 9, 1000}) {
    bodies.push_back(std::string(size, static_cast<char>('a' + size % 26)));
  }
  for (size_t i = 0; i < bodies.size(); ++i) {
    writer.Add(Request{static_cast<uint32_t>(i), Method::kCommit, 250, i * 3,
                       bodies[i]});
  }
  const std::string bytes = writer.Take();
  EXPECT_TRUE(writer.empty());
  const auto frame = ParseFrame(bytes);
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->kind, FrameKind::kRequests);
  size_t at = 0;
  const absl::Status visited =
      VisitRequests(*frame, [&](const Request& request) {
        EXPECT_EQ(request.tag, at);
        EXPECT_EQ(request.method, Method::kCommit);
        EXPECT_EQ(request.timeout_ms, 250);
        EXPECT_EQ(request.number, at * 3);
        EXPECT_EQ(request.body, bodies[at]);
        ++at;
        return true;
      });
  EXPECT_TRUE(visited.ok()) << visited;
  EXPECT_EQ(at, bodies.size());
}

TEST(SessionFrameTest, AFrameIsBounded) {
  FrameWriter writer(FrameKind::kResponses);
  EXPECT_TRUE(writer.HasRoom(kMaxFrameBytes - 100));
  EXPECT_FALSE(writer.HasRoom(kMaxFrameBytes));
  for (size_t i = 0; i < kMaxParts; ++i) writer.Add(Response{});
  EXPECT_FALSE(writer.HasRoom(0));
  EXPECT_TRUE(ParseFrame(writer.Take()).ok());
}

absl::Status ErrorOf(std::string bytes) {
  const auto frame = ParseFrame(bytes);
  if (!frame.ok()) return frame.status();
  return VisitRequests(*frame, [](const Request&) { return true; });
}

TEST(SessionFrameTest, InvalidFramesAreRefused) {
  FrameWriter writer(FrameKind::kRequests);
  writer.Add(Request{1, Method::kGet, 0, 0, "0123456789"});
  const std::string good = writer.Take();
  EXPECT_TRUE(ErrorOf(good).ok());
  const auto changed = [&good](size_t at, char to) {
    std::string bytes = good;
    bytes[at] = to;
    return ErrorOf(bytes);
  };
  EXPECT_THAT(ErrorOf("").message(), HasSubstr("0 bytes"));
  EXPECT_THAT(changed(0, 'X').message(), HasSubstr("no frame"));
  EXPECT_THAT(changed(2, 9).message(), HasSubstr("version 9"));
  EXPECT_THAT(changed(3, 0).message(), HasSubstr("kind 0"));
  EXPECT_THAT(changed(3, 9).message(), HasSubstr("kind 9"));
  EXPECT_THAT(changed(4, 0).message(), HasSubstr("0 parts"));
  EXPECT_THAT(changed(4, 2).message(), HasSubstr("ends within part 2"));
  EXPECT_THAT(changed(8, 1).message(), HasSubstr("says it has"));
  EXPECT_THAT(changed(16, 3).message(), HasSubstr("part 1"));
  EXPECT_THAT(changed(19, 0x7f).message(), HasSubstr("part 1"));
  // Every truncation, and one byte more.
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ErrorOf(good.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ErrorOf(good + "x").ok());
}

}  // namespace
}  // namespace kamino::session
