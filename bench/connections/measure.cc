#include "bench/connections/measure.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/pause.h"
#include "base/status_macros.h"
#include "bench/service/load.h"
#include "bench/service/subjects.h"
#include "bench/service/workload.h"
#include "client/client.h"

namespace kamino::bench::connections {
namespace {

using service::Subject;

constexpr uint64_t kObjects = 10'000;
constexpr size_t kValueBytes = 100;
constexpr int kLoaders = 32;

class Measurement {
 public:
  Measurement(const MeasureOptions& options, Crowd* crowd, Dialer* dialer,
              const Progress& progress)
      : options_(options),
        crowd_(crowd),
        dialer_(dialer),
        progress_(progress) {}

  absl::Status Begin() {
    client::ClientOptions asking;
    asking.seeds = options_.seeds;
    ASSIGN_OR_RETURN(asker_, client::Client::Connect(std::move(asking)));
    ASSIGN_OR_RETURN(beside_, service::MakeKamino("beside", options_.carrier,
                                                  options_.seeds));
    progress_(absl::StrCat("loading ", kObjects, " objects"));
    const service::Workload load(*service::FindMix("load"), kObjects,
                                 kValueBytes, &population_);
    RETURN_IF_ERROR(
        service::RunToEnd(beside_.get(), load, kLoaders, kObjects, 0));
    return RunSlices().status();  // so that all have what they need
  }

  absl::StatusOr<Round> RunRound() {
    Round round;
    progress_("without them");
    ASSIGN_OR_RETURN(round.speed_before, RunSlices());
    ASSIGN_OR_RETURN(round.before, Look());
    progress_("they come");
    absl::Time begin = MonotonicNow();
    RETURN_IF_ERROR(crowd_->Open(&round.refused));
    round.opening = MonotonicNow() - begin;
    round.opened = crowd_->size();
    progress_(absl::StrCat("with ", round.opened));
    ASSIGN_OR_RETURN(round.speed_with, RunSlices());
    ASSIGN_OR_RETURN(round.with, Look());
    round.newcomer = dialer_->FirstCall();
    progress_("they go");
    begin = MonotonicNow();
    RETURN_IF_ERROR(crowd_->Close(&round.lost));
    round.closing = MonotonicNow() - begin;
    ASSIGN_OR_RETURN(round.speed_after, RunSlices());
    ASSIGN_OR_RETURN(round.after, Look());
    return round;
  }

 private:
  absl::StatusOr<Speed> RunSlices() {
    Speed speed;
    RETURN_IF_ERROR(RunSlice("put", &speed.puts, &speed.put_micros));
    RETURN_IF_ERROR(RunSlice("get", &speed.gets, &speed.get_micros));
    return speed;
  }

  absl::Status RunSlice(const std::string& mix, double* per_second,
                        double* micros) {
    const service::Workload workload(*service::FindMix(mix), kObjects,
                                     kValueBytes, &population_);
    service::Window window;
    window.warm_up = options_.slice / 4;
    window.length = options_.slice;
    absl::StatusOr<service::Usage> begin = absl::UnknownError(""), end = begin;
    window.begins = [&] { begin = service::ReadUsage(options_.processes); };
    window.ends = [&] { end = service::ReadUsage(options_.processes); };
    const service::Outcome outcome = service::RunClosed(
        beside_.get(), workload, options_.outstanding, ++seed_, window);
    if (outcome.errors != 0) {
      return absl::Status(
          outcome.first_error.code(),
          absl::StrCat("the client beside: ", outcome.errors, " ", mix,
                       "s failed: ", outcome.first_error.message()));
    }
    RETURN_IF_ERROR(begin.status());
    RETURN_IF_ERROR(end.status());
    *per_second = outcome.per_second();
    for (size_t i = 0; i < options_.processes.size(); ++i) {
      *micros += absl::ToDoubleMicroseconds(Spent(*begin, *end, i)) /
                 static_cast<double>(std::max<uint64_t>(outcome.ended, 1));
    }
    return absl::OkStatus();
  }

  // By the process of that number; usages begin with this process.
  static absl::Duration Spent(const service::Usage& begin,
                              const service::Usage& end, size_t process) {
    return end.processor_time[process + 1] - begin.processor_time[process + 1];
  }

  absl::StatusOr<Snapshot> Look() const {
    Snapshot all;
    ASSIGN_OR_RETURN(const auto begin, service::ReadUsage(options_.processes));
    Pause(options_.slice);
    ASSIGN_OR_RETURN(const auto end, service::ReadUsage(options_.processes));
    for (size_t i = 0; i < options_.processes.size(); ++i) {
      all.idle_processor.push_back(
          absl::FDivDuration(Spent(begin, end, i), options_.slice));
    }
    ASSIGN_OR_RETURN(const auto status,
                     asker_->NodeStatus(options_.seeds.front()));
    all.heap = static_cast<int64_t>(status.heap_bytes_used());
    ASSIGN_OR_RETURN(all.kernel, ReadKernelMemory());
    for (const service::Process& process : options_.processes) {
      ASSIGN_OR_RETURN(const Memory memory, ReadMemory(process.pid));
      all.processes.push_back(memory);
    }
    return all;
  }

  const MeasureOptions& options_;
  Crowd* const crowd_;
  Dialer* const dialer_;
  const Progress& progress_;
  service::Population population_{0};
  std::unique_ptr<client::Client> asker_;  // what nodes say of themselves
  std::unique_ptr<Subject> beside_;
  uint64_t seed_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<Round>> Measure(const MeasureOptions& options,
                                           Crowd* crowd, Dialer* dialer,
                                           const Progress& progress) {
  Measurement measurement(options, crowd, dialer, progress);
  RETURN_IF_ERROR(measurement.Begin());
  std::vector<Round> rounds;
  for (int i = 0; i < options.rounds; ++i) {
    ASSIGN_OR_RETURN(Round round, measurement.RunRound());
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace kamino::bench::connections
