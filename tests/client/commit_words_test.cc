#include "client/cli/commit_words.h"

#include "absl/strings/str_split.h"
#include "client/cli/table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::client {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<kamino::v1::CommitRequest> Parse(const std::string& text) {
  return ParseCommit(absl::StrSplit(text, ' ', absl::SkipEmpty()));
}

TEST(CommitWordsTest, ParsesEveryConditionAndOperation) {
  auto request = Parse(
      "if exists a if absent b if version c 7 if value d text "
      "if unchanged e f 9 then put g h patch i 3 j del k get l "
      "else get m");
  ASSERT_TRUE(request.ok()) << request.status();
  ASSERT_EQ(request->preconditions_size(), 5);
  EXPECT_TRUE(request->preconditions(0).exists());
  EXPECT_TRUE(request->preconditions(1).has_exists());
  EXPECT_FALSE(request->preconditions(1).exists());
  EXPECT_EQ(request->preconditions(2).version_equals(), 7u);
  EXPECT_EQ(request->preconditions(3).value_equals(), "text");
  EXPECT_EQ(request->preconditions(4).range_unchanged().sequence(), 9u);
  ASSERT_EQ(request->then_operations_size(), 4);
  EXPECT_EQ(request->then_operations(1).patch().offset(), 3u);
  EXPECT_EQ(request->then_operations(2).delete_().key(), "k");
  ASSERT_EQ(request->else_operations_size(), 1);
  EXPECT_EQ(request->else_operations(0).get().key(), "m");
}

TEST(CommitWordsTest, KeysAloneAreEncoded) {
  const std::vector<std::string> words = absl::StrSplit(
      "if exists 00 if version 01 7 if value 02 text if unchanged 03 04 9 "
      "put 05 06 patch 07 3 08 del 09 get 0a else get 0b",
      ' ');
  auto request = ParseCommit(words, KeyEncoding::kHex);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->preconditions(0).key(), std::string(1, '\0'));
  EXPECT_EQ(request->preconditions(1).key(), "\x01");
  EXPECT_EQ(request->preconditions(2).key(), "\x02");
  EXPECT_EQ(request->preconditions(2).value_equals(), "text");
  EXPECT_EQ(request->preconditions(3).range_unchanged().start_key(), "\x03");
  EXPECT_EQ(request->preconditions(3).range_unchanged().end_key(), "\x04");
  EXPECT_EQ(request->then_operations(0).put().key(), "\x05");
  EXPECT_EQ(request->then_operations(0).put().value(), "06");
  EXPECT_EQ(request->then_operations(1).patch().key(), "\x07");
  EXPECT_EQ(request->then_operations(1).patch().data(), "08");
  EXPECT_EQ(request->then_operations(2).delete_().key(), "\x09");
  EXPECT_EQ(request->then_operations(3).get().key(), "\n");
  EXPECT_EQ(request->else_operations(0).get().key(), "\x0b");
  EXPECT_THAT(std::string(ParseCommit({"put", "0x", "v"}, KeyEncoding::kHex)
                              .status()
                              .message()),
              HasSubstr("\"0x\" is no key with --key_encoding=hex: at byte 1"));
}

TEST(CommitWordsTest, ThenMayBeLeftOut) {
  EXPECT_EQ(Parse("put a b")->then_operations_size(), 1);
}

TEST(CommitWordsTest, ErrorsNameTheWrongWord) {
  EXPECT_THAT(std::string(Parse("").status().message()), HasSubstr("nothing"));
  EXPECT_THAT(std::string(Parse("if then").status().message()),
              HasSubstr("\"then\""));
  EXPECT_THAT(std::string(Parse("put a").status().message()),
              HasSubstr("value"));
  EXPECT_THAT(std::string(Parse("patch a x y").status().message()),
              HasSubstr("\"x\" is no number"));
  EXPECT_THAT(std::string(Parse("put a b if exists c").status().message()),
              HasSubstr("\"if\" is not an operation; one is put, patch"));
  EXPECT_THAT(std::string(Parse("if then").status().message()),
              HasSubstr("is not a condition; one is exists, absent"));
  EXPECT_THAT(std::string(Parse("put a b else").status().message()),
              HasSubstr("ends where the operation should be"));
}

TEST(TableTest, AlignsColumns) {
  EXPECT_EQ(FormatTable({{"A", "LONG", "C"}, {"long", "b"}, {"x", "y", "z"}}),
            "A     LONG  C\nlong  b\nx     y     z\n");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(uint64_t{5} << 30), "5.0 GiB");
}

TEST(TableTest, DivergencesAreNamed) {
  EXPECT_EQ(DivergenceOf("n2", 0), "");
  EXPECT_THAT(DivergenceOf("n2", 128),
              HasSubstr("mutation 128 at n2 differs from the head's"));
}

}  // namespace
}  // namespace kamino::client
