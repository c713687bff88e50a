#include "node/driver/slow_operations.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "metrics/counters.h"
#include "tests/logs/captured_lines.h"

namespace kamino::node {
namespace {

using ::testing::HasSubstr;

uint64_t CountOf(const std::string& method) {
  for (const metrics::Counters* counters : metrics::AllCounters()) {
    if (counters->name() != "kamino_slow_operations_total") continue;
    for (const auto& [labels, counter] : counters->All()) {
      if (labels[0] == method) return counter->Read();
    }
  }
  return 0;
}

TEST(SlowOperationsTest, TheThresholdIsIncluded) {
  SlowOperations slow;
  EXPECT_FALSE(slow.on());
  EXPECT_FALSE(slow.IsSlow(absl::Hours(1)));
  slow.SetThreshold(absl::Milliseconds(5));
  EXPECT_TRUE(slow.on());
  EXPECT_FALSE(slow.IsSlow(absl::Milliseconds(5) - absl::Nanoseconds(1)));
  EXPECT_TRUE(slow.IsSlow(absl::Milliseconds(5)));
  slow.SetThreshold(absl::ZeroDuration());
  EXPECT_FALSE(slow.on());
  EXPECT_FALSE(slow.IsSlow(absl::Hours(1)));
}

TEST(SlowOperationsTest, AFewPerSecondAreLoggedAndAllAreCounted) {
  logs::CapturedLines lines;
  SlowOperations slow;
  SlowOperation put;
  put.method = "put";
  put.request = "5/7";
  put.traceparent = "00-1-2-00";
  const uint64_t before = CountOf("put");
  absl::Time now = absl::UnixEpoch();
  for (int i = 0; i < LogLimit::kLinesPerSecond + 3; ++i) slow.Tell(put, now);
  EXPECT_EQ(lines.With("slow").size(), size_t{LogLimit::kLinesPerSecond});
  now += absl::Seconds(1);
  slow.Tell(put, now);
  const auto last = lines.With("slow").back();
  EXPECT_THAT(last.message, HasSubstr("(3 lines like this one were"));
  EXPECT_EQ(CountOf("put"), before + LogLimit::kLinesPerSecond + 4);
  EXPECT_EQ(last.request, "5/7");
  EXPECT_EQ(last.traceparent, "00-1-2-00");
}

TEST(SlowOperationsTest, ALineSaysWhereTheTimeWent) {
  SlowOperation put;
  put.method = "put";
  put.code = absl::StatusCode::kAborted;
  put.took = absl::Milliseconds(1204);
  put.by = "spiffe://kamino/c/client/a";
  put.from = "ipv4:127.0.0.1:1";
  put.keys = 1;
  put.request_bytes = 77;
  put.answer_bytes = 3;
  put.core = absl::Microseconds(20);
  put.answer = absl::Microseconds(1);
  head::RequestTimes head;
  head.waits.executed = true;
  head.waits.came = absl::UnixEpoch();
  head.waits.began = absl::UnixEpoch() + absl::Milliseconds(3);
  head.waits.lock = absl::Milliseconds(500);
  head.waits.parked = 2;
  put.head = head;
  const std::string begin =
      "slow operation: method=put took_ms=1204.000 code=ABORTED "
      "by=spiffe://kamino/c/client/a from=ipv4:127.0.0.1:1 keys=1 "
      "request_bytes=77 answer_bytes=3 core_ms=0.020 admit_ms=3.000 "
      "lock_ms=500.000 parked=2";
  EXPECT_EQ(ToString(put), begin + " answer_ms=0.001");
  put.head->together = 4;
  put.head->execute = absl::Milliseconds(1);
  put.head->persist = absl::Milliseconds(2);
  put.head->complete = absl::Milliseconds(4);
  EXPECT_EQ(ToString(put), begin +
                               " together=4 execute_ms=1.000 persist_ms=2.000 "
                               "complete_ms=4.000 answer_ms=0.001");
  put.head->hop = absl::Milliseconds(3);
  EXPECT_THAT(ToString(put), HasSubstr("persist_ms=2.000 hop_ms=3.000 "));
}

TEST(SlowOperationsTest, AProcedureNameIsLoggedAsOneWord) {
  SlowOperation call;
  call.method = "call";
  call.procedure = "a b\nkeys=9";
  EXPECT_EQ(ToString(call),
            "slow operation: method=call procedure=a?b?keys=9 took_ms=0.000 "
            "code=OK request_bytes=0 answer_bytes=0");
  call.procedure = std::string(10000, 'a');
  EXPECT_LT(ToString(call).size(), 1000u);
}

TEST(SlowOperationsTest, MethodsAreNamedAsInMetrics) {
  EXPECT_EQ(MethodNameOf("GetResponse"), "get");
  EXPECT_EQ(MethodNameOf("BatchGetResponse"), "batch_get");
  EXPECT_EQ(MethodNameOf("GetNodeStatusResponse"), "get_node_status");
}

}  // namespace
}  // namespace kamino::node
