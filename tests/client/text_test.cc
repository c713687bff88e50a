#include "client/cli/text.h"

#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/escape.h"
#include "client/cli/key_encoding.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::client {
namespace {

using ::testing::HasSubstr;

TEST(TextTest, ReadableTextStaysAsItIs) {
  EXPECT_EQ(Escape("plain \"text\" 'x'"), "plain \"text\" 'x'");
  EXPECT_EQ(Escape("Grüße, 世界 🦀"), "Grüße, 世界 🦀");
}

TEST(TextTest, ControlBytesAndInvalidUtf8AreEscaped) {
  EXPECT_EQ(Escape("a\tb\nc\rd\\e"), "a\\tb\\nc\\rd\\\\e");
  EXPECT_EQ(Escape(std::string("\0\x1f\x7f", 3)), "\\x00\\x1f\\x7f");
  EXPECT_EQ(Escape("\xff"), "\\xff");
  EXPECT_EQ(Escape("\xc3"), "\\xc3");                    // cut short
  EXPECT_EQ(Escape("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(Escape("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(Escape("\xc2\x85"), "\\xc2\\x85");           // a control character
  EXPECT_EQ(Escape("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  // The mark that `load` drops at the beginning of a file.
  EXPECT_EQ(Escape("\xef\xbb\xbf\xef\xbb\xbf"), "\\xef\\xbb\\xbf\xef\xbb\xbf");
}

// From a malicious server: no control sequence reaches the terminal.
TEST(TextTest, ForeignTextIsMadePrintable) {
  EXPECT_EQ(Printable("no \"k\\x01\", Grüße"), "no \"k\\x01\", Grüße");
  EXPECT_EQ(Printable("a\x1b]0;owned\x07\x1b[2J"),
            "a\\x1b]0;owned\\x07\\x1b[2J");
  EXPECT_EQ(Printable("a\xc2\x9b"
                      "2J\x9b"
                      "2J\x7f"),
            "a\\xc2\\x9b2J\\x9b2J\\x7f");
  EXPECT_EQ(Printable("a\nkamino: done\r\b"), "a\\nkamino: done\\r\\x08");
}

TEST(TextTest, EveryPairOfBytesRoundTrips) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string bytes = {static_cast<char>(a), static_cast<char>(b)};
      const std::string text = Escape(bytes);
      EXPECT_EQ(text.find_first_of("\t\n\r"), std::string::npos);
      EXPECT_EQ(*Unescape(text), bytes) << a << " " << b;
      EXPECT_EQ(*FromHex(ToHex(bytes)), bytes);
    }
  }
}

TEST(TextTest, OnlyInvalidUtf8IsEscaped) {
  EXPECT_EQ(ToUtf8("a\\b\nGr\u00fc\u00dfe"), "a\\b\nGr\u00fc\u00dfe");
  EXPECT_EQ(ToUtf8(std::string("a\xff\xc3z\0", 5)),
            std::string("a\\xff\\xc3z\0", 11));
}

TEST(TextTest, InvalidEscapesAreRefused) {
  EXPECT_THAT(std::string(Unescape("a\\q").status().message()),
              HasSubstr("backslash"));
  EXPECT_THAT(std::string(Unescape("\\").status().message()),
              HasSubstr("backslash"));
  EXPECT_THAT(std::string(Unescape("\\x1").status().message()),
              HasSubstr("two hexadecimal digits"));
  EXPECT_THAT(std::string(Unescape("ab\\x0g").status().message()),
              HasSubstr("at byte 4 (counted from 0): \"0g\" is not two hex"));
  EXPECT_THAT(std::string(Unescape("\\t\\q").status().message()),
              HasSubstr("at byte 2 (counted from 0): a backslash"));
  EXPECT_FALSE(Unescape("\\xg0").ok());
  EXPECT_FALSE(FromHex("0").ok());
  EXPECT_FALSE(FromHex("0g").ok());
  EXPECT_EQ(*FromHex(" 00 fF\n"), std::string("\0\xff", 2));
}

constexpr KeyEncoding kEncodings[] = {KeyEncoding::kByPlace, KeyEncoding::kRaw,
                                      KeyEncoding::kEscaped, KeyEncoding::kHex,
                                      KeyEncoding::kBase64};

TEST(KeyEncodingTest, EveryKeyRoundTrips) {
  for (int length = 0; length < 4; ++length) {
    for (int byte = 0; byte < 256; ++byte) {
      const std::string key(length, static_cast<char>(byte));
      for (const KeyEncoding encoding : kEncodings) {
        const std::string text = EncodeKey(encoding, key);
        EXPECT_EQ(*DecodeKey(encoding, KeyPlace::kLine, text), key) << text;
        if (encoding == KeyEncoding::kByPlace) continue;
        EXPECT_EQ(*DecodeKey(encoding, KeyPlace::kWord, text), key) << text;
      }
    }
  }
}

TEST(KeyEncodingTest, AWordIsRawByDefault) {
  const auto decoded = [](KeyEncoding encoding, absl::string_view text) {
    return *DecodeKey(encoding, KeyPlace::kWord, text);
  };
  const std::string key("a\0\xff", 3);
  EXPECT_EQ(decoded(KeyEncoding::kByPlace, "a\\x00"), "a\\x00");
  EXPECT_EQ(decoded(KeyEncoding::kEscaped, "a\\x00\\xff"), key);
  EXPECT_EQ(decoded(KeyEncoding::kHex, "6100fF"), key);
  EXPECT_EQ(decoded(KeyEncoding::kBase64, "YQD/"), key);
  EXPECT_EQ(decoded(KeyEncoding::kBase64, ""), "");
}

TEST(KeyEncodingTest, ErrorsNameThePositionInTheKey) {
  const auto refusal = [](KeyEncoding encoding, absl::string_view text) {
    const auto key = DecodeKey(encoding, KeyPlace::kWord, text);
    EXPECT_EQ(key.status().code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(key.status().message());
  };
  EXPECT_EQ(refusal(KeyEncoding::kEscaped, "a\\q"),
            "\"a\\q\" is no key with --key_encoding=escaped: at byte 1 "
            "(counted from 0): a backslash stands before \\, t, n, r or xHH, "
            "and nothing else");
  EXPECT_EQ(refusal(KeyEncoding::kHex, "61 0"),
            "\"61 0\" is no key with --key_encoding=hex: at byte 2 (counted "
            "from 0): it is no hexadecimal digit");
  EXPECT_THAT(refusal(KeyEncoding::kHex, "616"),
              HasSubstr("at byte 2 (counted from 0): a byte has two digits"));
  for (const auto& [text, at] :
       std::map<std::string, int>{{"YQ=", 3},  // padding is missing
                                  {"YQ", 2},
                                  {"YR==", 1},  // bits that no byte has
                                  {"Y===", 1},
                                  {"====", 0},
                                  {"=", 1},
                                  {"Y Q=", 1},
                                  {"YQ==YQ==", 2},
                                  {"-_8=", 0}}) {  // the other alphabet
    EXPECT_THAT(refusal(KeyEncoding::kBase64, text),
                HasSubstr(absl::StrCat("at byte ", at, " (counted")))
        << text;
  }
}

TEST(TextTest, OnlyTheFirstEqualsSignEndsAnOptionsName) {
  EXPECT_TRUE(IsOptionWithoutValue("--prefix="));
  for (const char* word :
       {"--prefix", "--prefix=a",
        "--prefix=YQ==", "--file=/tmp/x=", "--prefix==", "prefix=", "-=", ""}) {
    EXPECT_FALSE(IsOptionWithoutValue(word)) << word;
  }
}

TEST(TextTest, AUniqueNameGetsTheFirstFreeNumber) {
  std::set<std::string> taken = {"n1-2"};
  EXPECT_EQ(UniqueName("n1", &taken), "n1");
  EXPECT_EQ(UniqueName("n1", &taken), "n1-3");
  EXPECT_EQ(UniqueName("n1-3", &taken), "n1-3-2");
  EXPECT_EQ(UniqueName("n2", &taken), "n2");
}

}  // namespace
}  // namespace kamino::client
