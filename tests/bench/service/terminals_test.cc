#include "bench/service/terminals.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/bench/service/stub_subject.h"

namespace kamino::bench::service {
namespace {

// The stub copies all of it for each transaction.
constexpr TpccScale kScale = {2, 10, 6};

class TerminalsTest : public ::testing::Test {
 protected:
  TerminalsTest() {
    const absl::Status loaded = LoadTpcc(&stub_, kScale);
    EXPECT_TRUE(loaded.ok()) << loaded;
  }

  // Makes the window longer until an operation has ended: in a short one this
  // process may not have run at all.
  Outcome Run(uint64_t seed) {
    Window window = {absl::Milliseconds(1), absl::Milliseconds(60), {}, {}};
    for (;; window.length *= 2) {
      const Outcome outcome =
          RunTerminals(&stub_, kScale, /*terminals=*/3, seed, window);
      if (outcome.ended > 0 || outcome.errors > 0) return outcome;
    }
  }

  auto CountOf(char table) {
    const std::string prefix = std::string("tpcc/") + table;
    return std::count_if(stub_.rows().begin(), stub_.rows().end(),
                         [&prefix](const auto& row) {
                           return absl::StartsWith(row.first, prefix);
                         });
  }

  StubSubject stub_{"stub"};
};

TEST_F(TerminalsTest, TablesAreStoredAsObjects) {
  EXPECT_EQ(CountOf('a'), 2);    // warehouses
  EXPECT_EQ(CountOf('b'), 20);   // districts
  EXPECT_EQ(CountOf('c'), 120);  // customers
  EXPECT_EQ(CountOf('j'), 10);   // items
  EXPECT_EQ(CountOf('k'), 20);   // stock
  EXPECT_TRUE(CheckTpcc(&stub_, kScale).ok());
}

TEST_F(TerminalsTest, TransactionsAreTimedAndKeepTheTablesConsistent) {
  for (uint64_t seed : {1u, 2u}) {
    const Outcome outcome = Run(seed);
    EXPECT_EQ(outcome.errors, 0u) << outcome.first_error;
    EXPECT_GT(outcome.ended, 0u);
    EXPECT_GT(outcome.latency.count(), 0u);
    EXPECT_LE(outcome.latency_of_writes.count(), outcome.latency.count());
    const absl::Status consistent = CheckTpcc(&stub_, kScale);
    EXPECT_TRUE(consistent.ok()) << consistent;
  }
}

TEST_F(TerminalsTest, EachRunAddsHistoryRows) {
  const auto before = CountOf('e');
  Run(1);
  const auto between = CountOf('e');
  Run(2);
  EXPECT_GT(between, before);
  EXPECT_GT(CountOf('e'), between);
}

TEST_F(TerminalsTest, AnInconsistencyIsFound) {
  auto order = stub_.rows().lower_bound("tpcc/g");
  stub_.rows().erase(order);
  EXPECT_TRUE(absl::IsDataLoss(CheckTpcc(&stub_, kScale)));
}

TEST_F(TerminalsTest, AFailedTransactionEndsItsTerminal) {
  stub_.rows().clear();
  const Outcome outcome = Run(1);
  EXPECT_EQ(outcome.errors, 3u);
  EXPECT_EQ(outcome.ended, 0u);
}

}  // namespace
}  // namespace kamino::bench::service
