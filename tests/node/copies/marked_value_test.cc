#include "tests/node/copies/marked_value.h"

#include <cstring>
#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace kamino::copies {
namespace {

int64_t InMemory(const MarkedValue& value) { return value.Find()[""]; }

TEST(MarkedValueTest, EachCopyIsFound) {
  const MarkedValue value(1, 4096);
  EXPECT_EQ(InMemory(value), 0);
  std::string made = value.Make();
  EXPECT_EQ(InMemory(value), 4096);
  const std::string copy = made;
  EXPECT_EQ(InMemory(value), 2 * 4096);
  Invert(made.data(), made.size());
  EXPECT_EQ(InMemory(value), 4096);
}

TEST(MarkedValueTest, PartsAreFoundAtAnyOffset) {
  const MarkedValue value(2, 4096);
  std::string made = value.Make();
  const auto buffer = std::make_unique<char[]>(8192);
  for (int i = 0; i < 1000; ++i) buffer[i + 13] = made[i];
  EXPECT_EQ(InMemory(value), 4096 + 1000 / 64 * 64);
}

TEST(MarkedValueTest, IsFoundAfterItWasFreed) {
  const MarkedValue value(3, 4096);
  delete new std::string(value.Make());
  EXPECT_EQ(InMemory(value), 4096);
}

}  // namespace
}  // namespace kamino::copies
