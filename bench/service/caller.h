// Carries out one operation of a workload at a time, and checks what it got.
#ifndef KAMINO_BENCH_SERVICE_CALLER_H_
#define KAMINO_BENCH_SERVICE_CALLER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/service/subject.h"
#include "bench/service/workload.h"

namespace kamino::bench::service {

// Time of the monotonic clock.
using Nanos = int64_t;
Nanos NowNanos();

// Not thread-safe. Outlives the operation under way.
class Caller {
 public:
  // `status`: kDataLoss where an answer was not what it has to be; `at`: when
  // the answer was there.
  using End = std::function<void(const absl::Status& status, Nanos at)>;

  Caller(Subject* subject, const Workload* workload, uint64_t seed)
      : subject_(subject), workload_(workload), random_(seed) {}

  // Draws the next operation, so that drawing is not timed.
  void Prepare();
  // Begins what was prepared. `end` is called once, and may prepare and begin
  // the next one.
  void Begin(End end);
  // Whether what was prepared last changes anything.
  bool writes() const {
    return step_.kind != Kind::kGet && step_.kind != Kind::kScan;
  }

 private:
  void Get();
  void Put();
  void PutAll();
  void Scan();
  void Finish(const absl::Status& status, Nanos at);
  bool inserts() const {
    return step_.kind == Kind::kInsert || step_.kind == Kind::kLoad;
  }

  Subject* const subject_;
  const Workload* const workload_;
  Random random_;

  // The prepared operation.
  Step step_;
  std::vector<Object> objects_;
  uint64_t population_ = 0;  // before a scan
  End end_;
};

}  // namespace kamino::bench::service

#endif  // KAMINO_BENCH_SERVICE_CALLER_H_
