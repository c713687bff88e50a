#include "bench/service/load.h"

#include <functional>
#include <string>

#include "gtest/gtest.h"
#include "tests/bench/service/stub_subject.h"

namespace kamino::bench::service {
namespace {

constexpr uint64_t kObjects = 100;
constexpr size_t kSize = 64;

Window Short() {
  return {absl::Milliseconds(1), absl::Milliseconds(20), {}, {}};
}

// A closed load until it has come to what is `enough`, in a longer window each
// time: in a short one this process may not have run at all.
Outcome RunClosedUntil(const std::function<bool(const Outcome&)>& enough,
                       Subject* subject, const Workload& workload,
                       int outstanding) {
  for (Window window = Short();; window.length *= 2) {
    const Outcome outcome =
        RunClosed(subject, workload, outstanding, /*seed=*/1, window);
    if (enough(outcome)) return outcome;
  }
}

// Operations of `mix` on a stub that has kObjects.
class LoadTest : public ::testing::Test {
 protected:
  void Load(Subject* subject) {
    const Workload workload(*FindMix("load"), kObjects, kSize, &population_);
    ASSERT_TRUE(RunToEnd(subject, workload, 8, kObjects, 1).ok());
  }

  Workload Of(const std::string& mix) {
    return Workload(*FindMix(mix), kObjects, kSize, &population_);
  }

  Population population_{0};
};

TEST_F(LoadTest, LoadsEveryObjectOnce) {
  StubSubject stub("stub");
  Load(&stub);
  EXPECT_EQ(population_.acknowledged(), kObjects);
  EXPECT_EQ(stub.mutations(), kObjects);
  ASSERT_EQ(stub.values().size(), kObjects);
  for (uint64_t i = 0; i < kObjects; ++i) {
    EXPECT_TRUE(CheckValue(stub.values().at(KeyOf(i)), i, kSize).ok());
  }
}

TEST_F(LoadTest, EveryMixRunsInBothKindsOfLoad) {
  StubSubject stub("stub");
  Load(&stub);
  for (const Mix& mix : Mixes()) {
    if (mix.transacts()) continue;  // terminals_test.cc
    const Workload workload = Of(mix.name);
    const bool reads =
        std::string(mix.name) == "get" || std::string(mix.name) == "ycsb-c";
    const auto has_run = [reads](const Outcome& load) {
      return load.errors > 0 ||
             (load.ended > 0 && (reads || load.latency_of_writes.count() > 0));
    };
    const Outcome closed = RunClosedUntil(has_run, &stub, workload, 4);
    EXPECT_EQ(closed.errors, 0u) << mix.name << closed.first_error;
    EXPECT_GT(closed.ended, 0u) << mix.name;
    EXPECT_GT(closed.per_second(), 0) << mix.name;
    EXPECT_LE(closed.latency_of_writes.count(), closed.latency.count());
    EXPECT_EQ(closed.latency_of_writes.count() == 0, reads) << mix.name;
    const Outcome open =
        RunOpen(&stub, workload, 5000, Arrivals::kPoisson, 1, Short());
    EXPECT_EQ(open.errors, 0u) << mix.name << open.first_error;
    EXPECT_GT(open.latency.count(), 0u) << mix.name;
    EXPECT_EQ(open.lateness.count(), open.latency.count()) << mix.name;
  }
}

TEST_F(LoadTest, TheWindowReportsItsBeginAndEnd) {
  StubSubject stub("stub");
  Load(&stub);
  for (bool open : {false, true}) {
    std::string told;
    Window window = Short();
    window.begins = [&] { told += "begins "; };
    window.ends = [&] { told += "ends"; };
    if (open) {
      RunOpen(&stub, Of("get"), 1000, Arrivals::kFixed, 1, window);
    } else {
      RunClosed(&stub, Of("get"), 1, 1, window);
    }
    EXPECT_EQ(told, "begins ends");
  }
}

TEST_F(LoadTest, FixedArrivalsHaveTheRequestedRate) {
  StubSubject stub("stub");
  Load(&stub);
  const Window window = {absl::ZeroDuration(), absl::Milliseconds(50), {}, {}};
  const Outcome outcome =
      RunOpen(&stub, Of("get"), 2000, Arrivals::kFixed, 1, window);
  EXPECT_NEAR(static_cast<double>(outcome.latency.count()), 100, 1);
}

// A closed load would not show the stall: it sends nothing while it has no
// answers.
TEST_F(LoadTest, AStallCountsInTheLatencyOfAllDueRequests) {
  constexpr int kWithheld = 40;
  {
    StubSubject stub("stub");
    Load(&stub);
  }
  StubSubject::Faults faults;
  faults.withheld = kWithheld;
  StubSubject stub("stub", faults);
  const Window window = {absl::ZeroDuration(), absl::Milliseconds(100), {}, {}};
  const Outcome outcome =
      RunOpen(&stub, Of("put"), 1000, Arrivals::kFixed, 1, window);
  // They are due a millisecond apart: the first is answered after the last.
  EXPECT_GE(outcome.latency.most(), (kWithheld - 1) * uint64_t{1'000'000});
  EXPECT_GE(outcome.latency.Quantile(0.8),
            static_cast<double>((kWithheld / 2 - 1) * 1'000'000));
}

TEST_F(LoadTest, FailuresAreCountedAndEndTheirCallers) {
  StubSubject::Faults faults;
  faults.failing = 10;
  StubSubject stub("stub", faults);
  population_.Inserted(population_.Reserve());
  const auto all_failed = [](const Outcome& load) { return load.errors >= 4; };
  const Outcome closed = RunClosedUntil(all_failed, &stub, Of("put"), 4);
  EXPECT_EQ(closed.errors, 4u);
  EXPECT_TRUE(absl::IsUnavailable(closed.first_error)) << closed.first_error;
  EXPECT_LT(stub.mutations(), 120u);  // of two runs at most
  const Outcome open =
      RunOpen(&stub, Of("put"), 5000, Arrivals::kFixed, 1, Short());
  EXPECT_GT(open.errors, 4u);
  EXPECT_GT(open.latency.count(), open.errors);
}

TEST_F(LoadTest, ReadValuesAreChecked) {
  StubSubject::Faults faults;
  faults.wrong_values = true;
  StubSubject stub("stub", faults);
  Load(&stub);
  const Outcome outcome = RunClosed(&stub, Of("get"), 2, 1, Short());
  EXPECT_EQ(outcome.errors, 2u);
  EXPECT_EQ(outcome.ended, 0u);
  EXPECT_TRUE(absl::IsDataLoss(outcome.first_error)) << outcome.first_error;
}

TEST_F(LoadTest, AMissingObjectIsAnError) {
  StubSubject stub("stub");
  const Outcome outcome = RunClosed(&stub, Of("get"), 1, 1, Short());
  EXPECT_EQ(outcome.errors, 1u);
  EXPECT_TRUE(absl::IsNotFound(outcome.first_error));
}

}  // namespace
}  // namespace kamino::bench::service
