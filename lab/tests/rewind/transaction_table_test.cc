#include "lab/rewind/transaction_table.h"

#include <vector>

#include "engine/resource_error.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

OwnRecords Ended(uint64_t end_id) {
  OwnRecords own;
  own.end = LogRecord();
  own.end->indexed.id = end_id;
  return own;
}

TEST(TransactionTableTest, TheFloorStaysBelowStoringTransactions) {
  TransactionTable table;
  EXPECT_EQ(table.FloorBefore(5), 5u);
  for (const uint64_t end : {7, 9}) {
    table.Enter();
    table.BeginStoring(end);
  }
  EXPECT_EQ(table.FloorBefore(10), 7u);
  table.Finish(Ended(9));
  EXPECT_EQ(table.FloorBefore(10), 7u);
  table.Finish(Ended(7));
  EXPECT_EQ(table.FloorBefore(10), 10u);
}

TEST(TransactionTableTest, FinishedTransactionsAboveTheFloorStay) {
  TransactionTable table;
  for (const uint64_t end : {9, 3, 7}) {
    table.Enter();
    table.Finish(Ended(end));
  }
  const std::vector<OwnRecords> taken = table.TakeFinished(7);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].end->indexed.id, 3u);
  EXPECT_TRUE(table.any_finished());
  EXPECT_EQ(table.TakeFinished(10).size(), 2u);
  EXPECT_FALSE(table.any_finished());
}

TEST(TransactionTableTest, OnlyALoneTransactionIsTooLarge) {
  TransactionTable table;
  table.Enter();
  EXPECT_EQ(ResourceOf(table.Full()), Resource::kTransaction);
  table.Enter();
  EXPECT_EQ(ResourceOf(table.Full()), Resource::kLog);
  table.Finish(Ended(1));
  EXPECT_EQ(ResourceOf(table.Full()), Resource::kLog);
  // A checkpoint removes its records.
  EXPECT_EQ(table.TakeFinished(2).size(), 1u);
  EXPECT_EQ(ResourceOf(table.Full()), Resource::kLog);
  table.SetLeaving(0);
  EXPECT_EQ(ResourceOf(table.Full()), Resource::kTransaction);
}

}  // namespace
}  // namespace kamino::engine
