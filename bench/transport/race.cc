#include "bench/transport/race.h"

#include <time.h>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "bench/harness/clock.h"

namespace kamino::bench {
namespace {

absl::Duration ProcessorTime() {
  timespec spent = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return absl::DurationFromTimespec(spent);
}

absl::Status MeasureOnce(Subject& subject, const RaceOptions& options,
                         Row* row) {
  Latencies latencies;
  RETURN_IF_ERROR(subject.PingPong(row->bytes, options.slice, &latencies));
  const double tick = NanosPerTick();
  row->round_trip_p50.push_back(latencies.round_trip.Quantile(0.5) * tick);
  row->round_trip_p99.push_back(latencies.round_trip.Quantile(0.99) * tick);
  row->one_way_p50.push_back(latencies.one_way.Quantile(0.5) * tick);
  row->one_way_p99.push_back(latencies.one_way.Quantile(0.99) * tick);
  auto streamed = subject.Stream(row->bytes, options.slice);
  if (absl::IsUnimplemented(streamed.status())) return absl::OkStatus();
  if (!streamed.ok()) return streamed.status();
  row->messages_per_s.push_back(*streamed);
  return absl::OkStatus();
}

}  // namespace

absl::Status RunRace(const std::vector<std::unique_ptr<Subject>>& subjects,
                     const RaceOptions& options,
                     const std::function<void(const std::string&)>& progress,
                     std::vector<Row>* rows) {
  for (size_t bytes : options.sizes) {
    progress(absl::StrCat(bytes, " B"));
    const size_t first = rows->size();
    for (const auto& subject : subjects) {
      rows->push_back({subject->name(), bytes, {}, {}, {}, {}, {}});
    }
    // The one before the first only warms up.
    for (int round = -1; round < options.rounds; ++round) {
      for (size_t i = 0; i < subjects.size(); ++i) {
        // Each goes first in some round.
        const size_t turn =
            (i + static_cast<size_t>(round + 1)) % subjects.size();
        Row warm_up{"", bytes, {}, {}, {}, {}, {}};
        RETURN_IF_ERROR(
            MeasureOnce(*subjects[turn], options,
                        round < 0 ? &warm_up : &(*rows)[first + turn]));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status WatchIdle(const std::vector<SubjectMaker>& makers,
                       const RaceOptions& options, std::vector<IdleRow>* rows) {
  for (const SubjectMaker& make : makers) {
    ASSIGN_OR_RETURN(auto subject, make());
    Latencies unused;
    RETURN_IF_ERROR(subject->PingPong(kLeastMessage, options.slice, &unused));
    const absl::Time begin = MonotonicNow();
    const absl::Duration before = ProcessorTime();
    absl::Notification nothing;
    nothing.WaitForNotificationWithTimeout(options.idle);
    const absl::Duration spent = ProcessorTime() - before;
    rows->push_back(
        {subject->name(), absl::FDivDuration(spent, MonotonicNow() - begin)});
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench
