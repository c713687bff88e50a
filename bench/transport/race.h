// Measures subjects side by side: in turns, so that whatever else the machine
// does hits all alike.
#ifndef KAMINO_BENCH_TRANSPORT_RACE_H_
#define KAMINO_BENCH_TRANSPORT_RACE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "bench/transport/subject.h"

namespace kamino::bench {

struct RaceOptions {
  std::vector<size_t> sizes;  // of messages, bytes
  int rounds = 5;
  absl::Duration slice;  // of one measurement in one round
  absl::Duration idle;   // how long an idle link is watched
};

// One subject at one size; figures of each round, in nanoseconds.
struct Row {
  std::string subject;
  size_t bytes = 0;
  std::vector<double> round_trip_p50;
  std::vector<double> round_trip_p99;
  std::vector<double> one_way_p50;
  std::vector<double> one_way_p99;
  std::vector<double> messages_per_s;  // empty: not measured
};

// Cost of a link while nothing is sent.
struct IdleRow {
  std::string subject;
  double cpu_fraction = 0;  // of one processor, both ends
};

using SubjectMaker = std::function<absl::StatusOr<std::unique_ptr<Subject>>()>;

// Rows by size, then in the order of `subjects`. `progress` is told what comes.
absl::Status RunRace(const std::vector<std::unique_ptr<Subject>>& subjects,
                     const RaceOptions& options,
                     const std::function<void(const std::string&)>& progress,
                     std::vector<Row>* rows);

// One after the other, while no other subject is there.
absl::Status WatchIdle(const std::vector<SubjectMaker>& makers,
                       const RaceOptions& options, std::vector<IdleRow>* rows);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_TRANSPORT_RACE_H_
