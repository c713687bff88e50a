#include "lab/controller/figure.h"

#include "gtest/gtest.h"

namespace kamino::bench::controller {
namespace {

TEST(FigureTest, FitsALineThroughPoints) {
  const Line straight = LineThrough({1, 2, 3, 4}, {5, 7, 9, 11});
  EXPECT_DOUBLE_EQ(straight.slope, 2);
  EXPECT_DOUBLE_EQ(straight.fit, 1);
  const Line steps = LineThrough({1, 2, 3, 4}, {0, 0, 0, 10});
  EXPECT_DOUBLE_EQ(steps.slope, 3);
  EXPECT_NEAR(steps.fit, 0.6, 1e-9);
  EXPECT_EQ(LineThrough({1, 1}, {2, 3}).slope, 0);
}

TEST(FigureTest, StepsAreDistinguishedFromOtherChanges) {
  // Indices 2, 5 and 8 rise by 10, 11, 12.
  const double values[] = {0, 1, 11, 12, 12, 23, 22, 25, 37};
  const Steps steps = StepsOf(values, 2, 3);
  EXPECT_DOUBLE_EQ(steps.least_step, 10);
  EXPECT_DOUBLE_EQ(steps.most_between, 3);
  // Looked for at other places, there are none.
  EXPECT_LT(StepsOf(values, 3, 3).least_step, 2);
  EXPECT_GT(StepsOf(values, 3, 3).most_between, 10);
}

TEST(FigureTest, TextAndJsonContainTheWholeFigure) {
  Figure figure{"5", "a \"title\""};
  Table table{"unit", {"x", "y"}};
  table.Add("1", {2.5});
  table.Add("2", {12345.6});
  figure.tables = {table};
  figure.marks = {{"what", "paper", "ours", true}, {"more", "p", "o", false}};
  const std::string text = ToText({figure});
  EXPECT_NE(text.find("12346"), std::string::npos);
  EXPECT_NE(text.find("[met]     what"), std::string::npos);
  EXPECT_NE(text.find("[not met] more"), std::string::npos);
  const std::string json = ToJson({{"fact", "f"}}, {figure});
  EXPECT_NE(json.find("\"holds\": false"), std::string::npos);
  EXPECT_NE(json.find("[\"1\", 2.5]"), std::string::npos);
  EXPECT_NE(json.find("a \\\"title\\\""), std::string::npos);
}

}  // namespace
}  // namespace kamino::bench::controller
