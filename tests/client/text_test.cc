#include "client/cli/text.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::client {
namespace {

using ::testing::HasSubstr;

TEST(TextTest, ReadableTextStaysAsItIs) {
  EXPECT_EQ(Escape("plain \"text\" 'x'"), "plain \"text\" 'x'");
  EXPECT_EQ(Escape("Grüße, 世界 🦀"), "Grüße, 世界 🦀");
}

TEST(TextTest, WhatALineCannotHoldIsEscaped) {
  EXPECT_EQ(Escape("a\tb\nc\rd\\e"), "a\\tb\\nc\\rd\\\\e");
  EXPECT_EQ(Escape(std::string("\0\x1f\x7f", 3)), "\\x00\\x1f\\x7f");
  EXPECT_EQ(Escape("\xff"), "\\xff");
  EXPECT_EQ(Escape("\xc3"), "\\xc3");                    // cut short
  EXPECT_EQ(Escape("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(Escape("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(Escape("\xc2\x85"), "\\xc2\\x85");           // a control character
  EXPECT_EQ(Escape("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

// Of a server that lies: nothing reaches the terminal that it would act on.
TEST(TextTest, WhatSomebodyElseSaysIsPrintable) {
  EXPECT_EQ(Printable("no \"k\\x01\", Grüße"), "no \"k\\x01\", Grüße");
  EXPECT_EQ(Printable("a\x1b]0;owned\x07\x1b[2J"),
            "a\\x1b]0;owned\\x07\\x1b[2J");
  EXPECT_EQ(Printable("a\xc2\x9b"
                      "2J\x9b"
                      "2J\x7f"),
            "a\\xc2\\x9b2J\\x9b2J\\x7f");
  EXPECT_EQ(Printable("a\nkamino: done\r\b"), "a\\nkamino: done\\r\\x08");
}

TEST(TextTest, EveryPairOfBytesComesBack) {
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

TEST(TextTest, OnlyWhatIsNotUtf8IsMadeSo) {
  EXPECT_EQ(ToUtf8("a\\b\nGr\u00fc\u00dfe"), "a\\b\nGr\u00fc\u00dfe");
  EXPECT_EQ(ToUtf8(std::string("a\xff\xc3z\0", 5)),
            std::string("a\\xff\\xc3z\0", 11));
}

TEST(TextTest, WhatNobodyEscapedIsRefused) {
  EXPECT_THAT(std::string(Unescape("a\\q").status().message()),
              HasSubstr("backslash"));
  EXPECT_THAT(std::string(Unescape("\\").status().message()),
              HasSubstr("backslash"));
  EXPECT_THAT(std::string(Unescape("\\x1").status().message()),
              HasSubstr("two hexadecimal digits"));
  EXPECT_FALSE(Unescape("\\xg0").ok());
  EXPECT_FALSE(FromHex("0").ok());
  EXPECT_FALSE(FromHex("0g").ok());
  EXPECT_EQ(*FromHex(" 00 fF\n"), std::string("\0\xff", 2));
}

}  // namespace
}  // namespace kamino::client
