#include <algorithm>
#include <limits>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "metrics/cells.h"
#include "metrics/counters.h"
#include "metrics/latencies.h"
#include "metrics/page.h"

namespace kamino::metrics {
namespace {

using ::testing::HasSubstr;

TEST(Cells, SumTheCountsOfLiveAndEndedThreads) {
  const size_t cell = Cells::Reserve(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([cell] {
      for (int k = 0; k < 100000; ++k) Cells::Add(cell, 1);
    });
  }
  uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    const uint64_t sum = Cells::Sum(cell);
    EXPECT_GE(sum, last);  // also while threads end
    last = sum;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Cells::Sum(cell), 800000);
  Cells::Add(cell, 2);
  EXPECT_EQ(Cells::Sum(cell), 800002);
}

TEST(Cells, AreContiguousAcrossChunks) {
  const size_t first = Cells::Reserve(600);
  for (size_t i = 0; i < 600; ++i) Cells::Add(first + i, i);
  for (size_t i = 0; i < 600; ++i) EXPECT_EQ(Cells::Sum(first + i), i);
}

// Counts at the end of its thread, after the destruction of the object that
// owns the thread's cells.
struct CountsAtTheEnd {
  ~CountsAtTheEnd() { Cells::Add(cell, 1); }
  size_t cell = 0;
};

TEST(Cells, IncludeCountsOfThreadLocalDestructors) {
  const size_t cell = Cells::Reserve(1);
  std::thread([cell] {
    static thread_local CountsAtTheEnd late;  // destroyed last
    late.cell = cell;
    Cells::Add(cell, 1);
  }).join();
  EXPECT_EQ(Cells::Sum(cell), 2);
}

TEST(Latencies, HaveABucketForEachBound) {
  EXPECT_EQ(LatencyBucket(-1), 0);
  EXPECT_EQ(LatencyBucket(0), 0);
  for (size_t i = 0; i < kLatencyBounds.size(); ++i) {
    EXPECT_EQ(LatencyBucket(kLatencyBounds[i]), i);
    EXPECT_EQ(LatencyBucket(kLatencyBounds[i] + 1), i + 1);
  }
  EXPECT_TRUE(std::is_sorted(kLatencyBounds.begin(), kLatencyBounds.end()));
  EXPECT_EQ(LatencyBucket(std::numeric_limits<int64_t>::max()),
            kLatencyBounds.size());
}

template <typename Kind>
void ExpectCounts() {
  Kind latencies;
  latencies.Add(absl::Microseconds(3));
  latencies.Add(absl::Microseconds(4));
  latencies.Add(absl::Hours(1));
  latencies.Add(-absl::Hours(1));
  const LatencySnapshot snapshot = latencies.Read();
  EXPECT_EQ(snapshot.count(), 4);
  EXPECT_EQ(snapshot.buckets[2], 2);
  EXPECT_EQ(snapshot.buckets.back(), 1);
  EXPECT_EQ(snapshot.sum_nanos, 3'600'000'007'000);
}

TEST(Latencies, Count) {
  ExpectCounts<Latencies>();
  ExpectCounts<OwnedLatencies>();
}

TEST(Counters, AreBounded) {
  static Counters counters("kamino_test_bounded_total", "Of a test.",
                           {"a", "b"});
  for (int i = 0; i < 1000; ++i) counters.Of({absl::StrCat(i), "x"})->Add();
  EXPECT_EQ(counters.All().size(), Counters::kMaxSets + 1);
  EXPECT_EQ(counters.Of({"0", "x"})->Read(), 1);
  EXPECT_EQ(counters.Of({"other", "other"})->Read(), 1000 - Counters::kMaxSets);
}

TEST(Page, ShowsCountersAndSources) {
  static Counters plain("kamino_test_plain_total", "Plain.");
  static Counters labelled("kamino_test_labelled_total", "Labelled.", {"way"});
  static LatencyCounters latencies("kamino_test_seconds", "Long.", {"way"});
  labelled.Of({"in"})->Add(7);
  latencies.Of({"out"})->Add(absl::Milliseconds(3));
  Page page;
  page.Add([](Families* families) {
    families->Gauge("kamino_test_bytes", "Some.", 12.5, {{"of", "a\"b\n"}});
    families->State("kamino_test_state", "Which.", "state", {"up", "down"},
                    "down");
  });
  page.Add(DescribeProcess);
  const std::string text = page.Text();
  EXPECT_THAT(text, HasSubstr("# TYPE kamino_test_plain_total counter\n"
                              "kamino_test_plain_total 0\n"));
  EXPECT_THAT(text, HasSubstr("kamino_test_labelled_total{way=\"in\"} 7\n"));
  EXPECT_THAT(text,
              HasSubstr("kamino_test_seconds_bucket{way=\"out\",le=\"0.0025\"} "
                        "0\n"));
  EXPECT_THAT(text,
              HasSubstr("kamino_test_seconds_bucket{way=\"out\",le=\"0.005\"} "
                        "1\n"));
  EXPECT_THAT(text,
              HasSubstr("kamino_test_seconds_bucket{way=\"out\",le=\"+Inf\"} "
                        "1\n"));
  EXPECT_THAT(text, HasSubstr("kamino_test_seconds_count{way=\"out\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("kamino_test_bytes{of=\"a\\\"b\\n\"} 12.5\n"));
  EXPECT_THAT(text, HasSubstr("kamino_test_state{state=\"up\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("kamino_test_state{state=\"down\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("process_start_time_seconds 1"));
  EXPECT_THAT(text, HasSubstr("process_open_fds "));
}

TEST(PageDeath, RefusesTwoHelpTextsForOneName) {
  EXPECT_DEATH(
      {
        Families families;
        families.Gauge("kamino_a", "This.", 1);
        families.Gauge("kamino_a", "That.", 1);
      },
      "twice");
}

}  // namespace
}  // namespace kamino::metrics
