#include "base/key_scope.h"

#include <string>

#include "gtest/gtest.h"

namespace kamino {
namespace {

TEST(KeyScopeTest, HasKeysWithOneOfItsPrefixes) {
  const KeyScope scope({"b/", "a/x", "a/", "ab"});
  for (const char* key : {"a/", "a/x", "a/zzz", "ab", "abc", "b/1"}) {
    EXPECT_TRUE(scope.Has(key)) << key;
  }
  for (const char* key : {"", "a", "a.", "a0", "aa", "ac", "b", "b0", "c/"}) {
    EXPECT_FALSE(scope.Has(key)) << key;
  }
  EXPECT_FALSE(scope.has_all());
}

TEST(KeyScopeTest, HasRangesWithinOnePrefix) {
  const KeyScope scope({"a/", "b/"});
  EXPECT_TRUE(scope.HasRange("a/", "a0"));
  EXPECT_TRUE(scope.HasRange("a/1", "a/2"));
  EXPECT_TRUE(scope.HasRange("b/1", "b0"));
  EXPECT_FALSE(scope.HasRange("a/", ""));
  EXPECT_FALSE(scope.HasRange("", "a0"));
  EXPECT_FALSE(scope.HasRange("", ""));
  EXPECT_FALSE(scope.HasRange("a/", "a00"));
  EXPECT_FALSE(scope.HasRange("a/", "b/1"));
  EXPECT_FALSE(scope.HasRange("a", "a/1"));
}

// There is no least key behind all that begin with these.
TEST(KeyScopeTest, APrefixOfMaximalBytesExtendsToTheEnd) {
  const KeyScope scope({std::string("\xff\xff")});
  EXPECT_TRUE(scope.HasRange("\xff\xff", ""));
  EXPECT_FALSE(scope.HasRange("\xff", ""));
  const KeyScope nearly({std::string("a\xff")});
  EXPECT_TRUE(nearly.HasRange("a\xff", "b"));
  EXPECT_FALSE(nearly.HasRange("a\xff", "b1"));
}

TEST(KeyScopeTest, AllHasEveryKeyAndAnEmptyScopeHasNone) {
  EXPECT_TRUE(KeyScope::All().has_all());
  EXPECT_TRUE(KeyScope::All().Has("x"));
  EXPECT_TRUE(KeyScope::All().HasRange("", ""));
  EXPECT_TRUE(KeyScope({"a", ""}).has_all());
  const KeyScope none({});
  EXPECT_FALSE(none.Has(""));
  EXPECT_FALSE(none.Has("x"));
  EXPECT_FALSE(none.HasRange("x", "y"));
}

TEST(KeyScopeTest, DescribesItsPrefixes) {
  EXPECT_EQ(KeyScope::All().Describe(), "all keys");
  EXPECT_EQ(KeyScope({}).Describe(), "no key");
  EXPECT_EQ(KeyScope({"b\n", "a/"}).Describe(), "\"a/\" and \"b\\n\"");
  EXPECT_EQ(KeyScope({"a", "b", "c", "d", "e", "f"}).Describe(),
            "\"a\" and \"b\" and \"c\" and \"d\" and 2 more");
}

}  // namespace
}  // namespace kamino
