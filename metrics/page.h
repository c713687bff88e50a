// The metrics page of a process, for Prometheus: its counters
// (metrics/counters.h) and the metrics of registered sources.
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

// Collects the metrics of a page. Sources that add values under one name must
// give the same help; different labels are grouped. Base units: seconds, bytes.
class Families {
 public:
  // A value that never decreases while the process runs.
  void Counter(const std::string& name, const std::string& help, double value,
               Labels labels = {});
  void Gauge(const std::string& name, const std::string& help, double value,
             Labels labels = {});
  void Seconds(const std::string& name, const std::string& help,
               const LatencySnapshot& latencies, Labels labels = {});
  // One gauge for each of `states`: 1 for the present one, 0 for the others.
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

  // `source` is called on any thread, concurrently, until this object ends.
  void Add(Source source) ABSL_LOCKS_EXCLUDED(mutex_);

  std::vector<prometheus::MetricFamily> Collect() const override
      ABSL_LOCKS_EXCLUDED(mutex_);
  // In Prometheus' text format.
  std::string Text() const;

 private:
  mutable absl::Mutex mutex_;
  std::vector<Source> sources_ ABSL_GUARDED_BY(mutex_);
};

// A source: the process metrics of Prometheus' client libraries, under their
// usual names (process_start_time_seconds and so on).
void DescribeProcess(Families* families);

}  // namespace kamino::metrics

#endif  // KAMINO_METRICS_PAGE_H_
