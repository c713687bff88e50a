// Counters of the process, defined in one line each:
//
//   metrics::Counters denied("kamino_denied_calls_total",
//                            "Calls whose caller may not make them.",
//                            {"method"});
//   denied.Of({method})->Add();
//
// Each is on the metrics page from then on (metrics/page.h). Define counters at
// namespace scope or as function-local statics: they are never destroyed.
#ifndef KAMINO_METRICS_COUNTERS_H_
#define KAMINO_METRICS_COUNTERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "metrics/cells.h"
#include "metrics/latencies.h"

namespace kamino::metrics {

// Any thread; Add takes some ten instructions.
class Counter {
 public:
  Counter() : cell_(Cells::Reserve(1)) {}
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void Add(uint64_t n = 1) { Cells::Add(cell_, n); }
  uint64_t Read() const { return Cells::Sum(cell_); }

 private:
  const size_t cell_;
};

// One metric, with a `Value` for each set of label values. Beyond kMaxSets
// sets, further ones share the value whose labels are all "other". Thread-safe.
template <typename Value>
class Labelled {
 public:
  static constexpr size_t kMaxSets = 256;
  using LabelValues = std::vector<std::string>;

  Labelled(std::string name, std::string help,
           std::vector<std::string> labels = {});
  Labelled(const Labelled&) = delete;
  Labelled& operator=(const Labelled&) = delete;

  // Takes one value per label. It takes a lock: on hot paths keep the pointer,
  // which stays valid.
  Value* Of(const LabelValues& values);

  const std::string& name() const { return state_->name; }
  const std::string& help() const { return state_->help; }
  const std::vector<std::string>& labels() const { return state_->labels; }
  std::vector<std::pair<LabelValues, const Value*>> All() const;

 private:
  struct State {
    std::string name;
    std::string help;
    std::vector<std::string> labels;
    absl::Mutex mutex;
    std::map<LabelValues, std::unique_ptr<Value>> values ABSL_GUARDED_BY(mutex);
  };

  // Never freed: threads may count until the process ends.
  State* const state_ = new State;
};

using Counters = Labelled<Counter>;
using LatencyCounters = Labelled<Latencies>;

// All counters defined so far, sorted by name.
std::vector<const Counters*> AllCounters();
std::vector<const LatencyCounters*> AllLatencyCounters();

}  // namespace kamino::metrics

#endif  // KAMINO_METRICS_COUNTERS_H_
