#include "logs/line.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "logs/trace.h"

namespace kamino::logs {
namespace {

using ::testing::HasSubstr;

const Origin kOrigin = {"kamino_node", "c", "n1"};

Event Said(absl::string_view message) {
  Event event;
  event.severity = 1;
  event.unix_micros = 1'792'800'000'000'042;
  event.file = "node.cc";
  event.line = 7;
  event.thread = "core";
  event.thread_id = 12;
  event.message = message;
  return event;
}

// Uses a parser that is not ours.
google::protobuf::Struct Parse(const std::string& line) {
  google::protobuf::Struct parsed;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(line, &parsed).ok())
      << line;
  return parsed;
}

std::string Message(const std::string& line) {
  return Parse(line).fields().at("message").string_value();
}

TEST(JsonLineTest, HasTheFieldsThatAreSet) {
  Event event = Said("so it is");
  EXPECT_EQ(JsonLine(kOrigin, event),
            "{\"time\":\"2026-10-24T00:00:00.000042Z\",\"severity\":"
            "\"WARNING\",\"program\":\"kamino_node\",\"cluster\":\"c\","
            "\"node\":\"n1\",\"file\":\"node.cc:7\",\"thread\":\"core\","
            "\"thread_id\":12,\"message\":\"so it is\"}");
  event.request = "5/7";
  event.traceparent = "00-1-2-00";
  const auto fields = Parse(JsonLine({"p", "", ""}, event)).fields();
  EXPECT_EQ(fields.at("request").string_value(), "5/7");
  EXPECT_EQ(fields.at("traceparent").string_value(), "00-1-2-00");
  EXPECT_EQ(fields.count("node"), 0u);
}

TEST(JsonLineTest, IsOneLineForAnyMessage) {
  const std::string text =
      "a \"b\" \\c\n\t\r\x01\x7f \xc3\xa4 \xe2\x82\xac "
      "\xf0\x9f\x98\x80 end";
  const std::string line = JsonLine(kOrigin, Said(text));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(Message(line), text);
}

TEST(JsonLineTest, InvalidUtf8IsReplaced) {
  for (const char* bytes : {"\xff", "\xc3", "\xc0\xaf", "\xe0\x80\xaf",
                            "\xed\xa0\x80", "\xf4\x90", "\xf5", "\x80"}) {
    const std::string said = Message(JsonLine(kOrigin, Said(bytes)));
    EXPECT_EQ(said.substr(0, 3), "\xef\xbf\xbd");
    EXPECT_EQ(Message(JsonLine(kOrigin, Said(absl::StrCat(bytes, "x")))),
              absl::StrCat(said, "x"));
  }
}

TEST(JsonLineTest, HasNoTerminalControls) {
  // U+009B is what ESC [ is.
  const std::string text =
      "a\xc2\x9b"
      "31mb\xc2\x85\xc2\xa0";
  const std::string line = JsonLine(kOrigin, Said(text));
  EXPECT_THAT(line, HasSubstr("\"a\\u009b31mb\\u0085\xc2\xa0\""));
  EXPECT_EQ(Message(line), text);
}

TEST(TextLineTest, IsOneLineWithoutTerminalControls) {
  EXPECT_EQ(TextLine("I ", Said("a\xc2\x9b"
                                "31mb\xc2\x80\xc2\xa0\xc3\xa4")),
            "I a\\x9b31mb\\x80\xc2\xa0\xc3\xa4");
  EXPECT_EQ(TextLine("I ", Said("a\x9b"
                                "31m\xff")),
            "I a\xef\xbf\xbd"
            "31m\xef\xbf\xbd");
  Event odd = Said("x");
  odd.request = "5\n7";
  odd.traceparent = "\x1b[2J";
  EXPECT_EQ(TextLine("I ", odd), "I x [request 5\\n7] [traceparent \\x1b[2J]");

  EXPECT_EQ(TextLine("I ", Said("a\nb\r\x1b[2J\tc")),
            "I a\\nb\\x0d\\x1b[2J\tc");
  Event event = Said("slow");
  event.request = "5/7";
  event.traceparent = "00-1-2-00";
  EXPECT_EQ(TextLine("W ", event),
            "W slow [request 5/7] [traceparent 00-1-2-00]");
}

TEST(TraceTest, ValidatesTraceparents) {
  const std::string good =
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  EXPECT_TRUE(IsTraceparent(good));
  EXPECT_TRUE(IsTraceparent(MakeTraceparent(0, 0, 0)));
  EXPECT_TRUE(IsTraceparent(MakeTraceparent(~0ull, ~0ull, ~0ull)));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = 'G';
    EXPECT_FALSE(IsTraceparent(bad)) << bad;
  }
  EXPECT_FALSE(IsTraceparent(good.substr(1)));
  EXPECT_FALSE(IsTraceparent(good + "-1"));
  EXPECT_FALSE(IsTraceparent(""));
  EXPECT_FALSE(
      IsTraceparent("00-00000000000000000000000000000000-b7ad6b7169203331-01"));
  EXPECT_FALSE(
      IsTraceparent("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"));
}

TEST(TraceTest, ValidatesRequestIds) {
  EXPECT_TRUE(IsRequestId("a-1:2/B_c."));
  EXPECT_FALSE(IsRequestId(""));
  EXPECT_FALSE(IsRequestId("a b"));
  EXPECT_FALSE(IsRequestId("a\n"));
  EXPECT_FALSE(IsRequestId(std::string(65, 'a')));
}

}  // namespace
}  // namespace kamino::logs
