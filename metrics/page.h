// What a process shows to Prometheus: its counters (metrics/counters.h), and
// what sources say when they are asked.
#ifndef KAMINO_METRICS_PAGE_H_
#define KAMINO_METRICS_PAGE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "metrics/latencies.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"

namespace kamino::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

// A page that is being filled. Whoever gives values with one name gives one
// help with it; those with other labels go beside each other. Base units:
// seconds, bytes.
class Families {
 public:
  // Only grows while the process runs.
  void Counter(const std::string& name, const std::string& help, double value,
               Labels labels = {});
  void Gauge(const std::string& name, const std::string& help, double value,
             Labels labels = {});
  void Seconds(const std::string& name, const std::string& help,
               const LatencySnapshot& latencies, Labels labels = {});
  // A gauge for each of `states`, 1 for the one that is, 0 for the others.
  void State(const std::string& name, const std::string& help,
             const std::string& label, const std::vector<std::string>& states,
             const std::string& state, const Labels& labels = {});

  std::vector<prometheus::MetricFamily> Take() { return std::move(families_); }

 private:
  prometheus::ClientMetric* Add(const std::string& name,
                                const std::string& help,
                                prometheus::MetricType type, Labels labels);

  std::vector<prometheus::MetricFamily> families_;
  absl::flat_hash_map<std::string, size_t> by_name_;
};

// Thread-safe.
class Page final : public prometheus::Collectable {
 public:
  using Source = std::function<void(Families*)>;

  // `source` is called on any thread, several at a time, until this ends.
  void Add(Source source) ABSL_LOCKS_EXCLUDED(mutex_);

  std::vector<prometheus::MetricFamily> Collect() const override
      ABSL_LOCKS_EXCLUDED(mutex_);
  // In Prometheus' text format.
  std::string Text() const;

 private:
  mutable absl::Mutex mutex_;
  std::vector<Source> sources_ ABSL_GUARDED_BY(mutex_);
};

// A source: what Prometheus' own libraries tell of a process, under the names
// that they have for it (process_start_time_seconds and the like).
void DescribeProcess(Families* families);

}  // namespace kamino::metrics

#endif  // KAMINO_METRICS_PAGE_H_
