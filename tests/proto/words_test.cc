#include "proto/words.h"

#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"
#include "kamino/v1/member.pb.h"

namespace kamino {
namespace {

TEST(WordsTest, DropThePrefixOfTheName) {
  EXPECT_EQ(Word(v1::ROLE_SINGLE), "single");
  EXPECT_EQ(Word(v1::CONDITION_OUTRUN), "outrun");
  EXPECT_EQ(Word(v1::LINK_ROLE_PREDECESSOR), "predecessor");
  EXPECT_EQ(Word(v1::UNDO_COPY_KIND_SIMPLE), "simple");
}

TEST(WordsTest, UnspecifiedAndLaterValuesAreUnknown) {
  EXPECT_EQ(Word(v1::ROLE_UNSPECIFIED), "unknown");
  EXPECT_EQ(Word(static_cast<v1::Condition>(99)), "unknown");
}

}  // namespace
}  // namespace kamino
