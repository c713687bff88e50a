#include "lab/controller/methods.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace kamino::bench::controller {
namespace {

// A wrap that stores to two words, one of them twice.
const std::vector<Event> kWrapOfThree = {
    {EventKind::kOpen},           {EventKind::kStore, 8, 64},
    {EventKind::kStore, 8, 1024}, {EventKind::kStore, 8, 64},
    {EventKind::kClose},
};

// Without what calls cost.
std::vector<Op> OpsOf(Method method, const std::vector<Event>& events) {
  std::vector<Op> ops;
  Translate(method, Machine(), events, &ops);
  const auto spends = [](const Op& op) { return op.kind == OpKind::kSpend; };
  ops.erase(std::remove_if(ops.begin(), ops.end(), spends), ops.end());
  return ops;
}

TEST(MethodsTest, CachedOnlyStores) {
  const std::vector<Op> expected = {
      {OpKind::kStore, 8}, {OpKind::kStore, 128}, {OpKind::kStore, 8}};
  EXPECT_EQ(OpsOf(Method::kCached, kWrapOfThree), expected);
}

TEST(MethodsTest, NonAtomicHasOneFence) {
  const std::vector<Op> expected = {{OpKind::kStore, 8},   {OpKind::kFlush, 1},
                                    {OpKind::kStore, 128}, {OpKind::kFlush, 16},
                                    {OpKind::kStore, 8},   {OpKind::kFlush, 1},
                                    {OpKind::kFence}};
  EXPECT_EQ(OpsOf(Method::kNonAtomic, kWrapOfThree), expected);
}

TEST(MethodsTest, UndoWaitsForEachRecordAndEachStore) {
  const std::vector<Op> expected = {{OpKind::kLoad, 8},
                                    {OpKind::kLog, 16},
                                    {OpKind::kPushLog},
                                    {OpKind::kFence},
                                    {OpKind::kStore, 8},
                                    {OpKind::kFlush, 1},
                                    {OpKind::kFence},
                                    {OpKind::kLoad, 128},
                                    {OpKind::kLog, 16},
                                    {OpKind::kPushLog},
                                    {OpKind::kFence},
                                    {OpKind::kStore, 128},
                                    {OpKind::kFlush, 16},
                                    {OpKind::kFence},
                                    // Logged already.
                                    {OpKind::kStore, 8},
                                    {OpKind::kFlush, 1},
                                    {OpKind::kFence},
                                    {OpKind::kNewLog}};
  EXPECT_EQ(OpsOf(Method::kUndo, kWrapOfThree), expected);
}

TEST(MethodsTest, GroupedUndoHasThreeFences) {
  const std::vector<Op> ops = OpsOf(Method::kUndoGrouped, kWrapOfThree);
  const auto count = [&ops](OpKind kind) {
    return std::count_if(ops.begin(), ops.end(),
                         [kind](const Op& op) { return op.kind == kind; });
  };
  EXPECT_EQ(count(OpKind::kFence), 3);
  EXPECT_EQ(count(OpKind::kLog), 3);  // two records and the end
  EXPECT_EQ(count(OpKind::kFlush), 3);
  // No store before its record is durable.
  const auto fence = std::find(ops.begin(), ops.end(), Op{OpKind::kFence});
  const auto store = std::find(ops.begin(), ops.end(), Op{OpKind::kStore, 8});
  EXPECT_LT(fence - ops.begin(), store - ops.begin());
}

TEST(MethodsTest, WrapLogsItsStoresAndHasOneFence) {
  const std::vector<Op> expected = {
      {OpKind::kOpenWrap},   {OpKind::kStore, 8},  {OpKind::kLogStored},
      {OpKind::kStore, 128}, {OpKind::kLogStored}, {OpKind::kStore, 8},
      {OpKind::kLogStored},  {OpKind::kLog, 24},   {OpKind::kPushLog},
      {OpKind::kFence},      {OpKind::kCloseWrap}, {OpKind::kNewLog}};
  EXPECT_EQ(OpsOf(Method::kWrap, kWrapOfThree), expected);
}

TEST(MethodsTest, OrdinaryStoresAreTheSameInEveryMethod) {
  for (Method method : kMethods) {
    EXPECT_EQ(OpsOf(method, {{EventKind::kStore, 4, 20}}),
              (std::vector<Op>{{OpKind::kStore, 2}}));
    EXPECT_EQ(OpsOf(method, {{EventKind::kLoad, 4, 20}}),
              (std::vector<Op>{{OpKind::kLoad, 0}}));
    const bool lasts = method != Method::kCached;
    EXPECT_EQ(OpsOf(method, {{EventKind::kFlush, 128, 32}}).size(),
              lasts ? 3u : 0u);
    EXPECT_EQ(OpsOf(method, {{EventKind::kDrain}}).size(), lasts ? 1u : 0u);
  }
}

TEST(MethodsTest, LargeStoresAreSplitIntoWordsAndLines) {
  const std::vector<Event> wrap = {
      {EventKind::kOpen}, {EventKind::kStore, 100, 60}, {EventKind::kClose}};
  const auto count = [&wrap](Method method, OpKind kind) {
    const std::vector<Op> ops = OpsOf(method, wrap);
    return std::count_if(ops.begin(), ops.end(),
                         [kind](const Op& op) { return op.kind == kind; });
  };
  // Bytes 60 to 159: words 7 to 19, lines 0 to 2.
  EXPECT_EQ(count(Method::kWrap, OpKind::kLogStored), 13);
  EXPECT_EQ(count(Method::kNonAtomic, OpKind::kFlush), 3);
  EXPECT_EQ(count(Method::kUndo, OpKind::kLog), 1);
  EXPECT_EQ(count(Method::kUndo, OpKind::kLoad), 3);
}

}  // namespace
}  // namespace kamino::bench::controller
