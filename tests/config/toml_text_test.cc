#include "config/toml_text.h"

#include <string>

#include "gtest/gtest.h"
#include "toml++/toml.h"

namespace kamino::config {
namespace {

TEST(TomlTextTest, RoundTrips) {
  std::string text = "a \"quoted\" \\ \xc3\xa4\x7f";
  for (char c = 1; c < 32; ++c) text.push_back(c);
  const std::string line = TomlKey(text) + " = " + TomlText(text);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const toml::parse_result table = toml::parse(line);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table[text].value_or(std::string()), text);
}

TEST(TomlTextTest, AKeyIsQuotedWhenNecessary) {
  EXPECT_EQ(TomlKey("heap_mb-2"), "heap_mb-2");
  EXPECT_EQ(TomlKey(""), "\"\"");
  EXPECT_EQ(TomlKey("a.b"), "\"a.b\"");
}

}  // namespace
}  // namespace kamino::config
