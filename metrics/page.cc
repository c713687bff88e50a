#include "metrics/page.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "metrics/counters.h"
#include "prometheus/text_serializer.h"

namespace kamino::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr double kNanosPerSecond = 1e9;

Labels Zip(const std::vector<std::string>& names,
           const std::vector<std::string>& values) {
  Labels labels;
  for (size_t i = 0; i < names.size(); ++i) {
    labels.emplace_back(names[i], values[i]);
  }
  return labels;
}

void DescribeCounters(Families* families) {
  for (const Counters* counters : AllCounters()) {
    for (const auto& [values, counter] : counters->All()) {
      families->Counter(counters->name(), counters->help(),
                        static_cast<double>(counter->Read()),
                        Zip(counters->labels(), values));
    }
  }
  for (const LatencyCounters* counters : AllLatencyCounters()) {
    for (const auto& [values, latencies] : counters->All()) {
      families->Seconds(counters->name(), counters->help(), latencies->Read(),
                        Zip(counters->labels(), values));
    }
  }
}

}  // namespace

ClientMetric* Families::Add(const std::string& name, const std::string& help,
                            MetricType type, Labels labels) {
  const auto [found, is_new] = by_name_.emplace(name, families_.size());
  if (is_new) {
    MetricFamily& family = families_.emplace_back();
    family.name = name;
    family.help = help;
    family.type = type;
  }
  MetricFamily& family = families_[found->second];
  CHECK(family.type == type && family.help == help) << name << ": twice";
  ClientMetric& metric = family.metric.emplace_back();
  for (auto& [label, value] : labels) {
    metric.label.push_back({std::move(label), std::move(value)});
  }
  return &metric;
}

void Families::Counter(const std::string& name, const std::string& help,
                       double value, Labels labels) {
  Add(name, help, MetricType::Counter, std::move(labels))->counter.value =
      value;
}

void Families::Gauge(const std::string& name, const std::string& help,
                     double value, Labels labels) {
  Add(name, help, MetricType::Gauge, std::move(labels))->gauge.value = value;
}

void Families::Seconds(const std::string& name, const std::string& help,
                       const LatencySnapshot& latencies, Labels labels) {
  ClientMetric::Histogram& histogram =
      Add(name, help, MetricType::Histogram, std::move(labels))->histogram;
  for (size_t i = 0; i < kLatencyBounds.size(); ++i) {
    histogram.sample_count += latencies.buckets[i];
    histogram.bucket.push_back(
        {histogram.sample_count,
         static_cast<double>(kLatencyBounds[i]) / kNanosPerSecond});
  }
  histogram.sample_count = latencies.count();
  histogram.sample_sum =
      static_cast<double>(latencies.sum_nanos) / kNanosPerSecond;
}

void Families::State(const std::string& name, const std::string& help,
                     const std::string& label,
                     const std::vector<std::string>& states,
                     const std::string& state, const Labels& labels) {
  for (const std::string& each : states) {
    Labels with = labels;
    with.emplace_back(label, each);
    Gauge(name, help, each == state ? 1 : 0, std::move(with));
  }
}

namespace {

// Metrics that were renamed since release 0.1.0, by their present names. The
// former names go with the release after the next (docs/operate/metrics.md).
constexpr std::pair<absl::string_view, const char*> kFormerNames[] = {
    {"kamino_certificate_peers_rejected_total",
     "kamino_certificate_peers_turned_down_total"},
    {"kamino_divergence", "kamino_disputed"},
    {"kamino_head_quarantined_requests", "kamino_head_poisonous_requests"},
    {"kamino_link_rejected_messages_total", "kamino_link_turned_down_total"},
    {"kamino_scrub_unresolved", "kamino_scrub_in_doubt"},
};

void AddFormerNames(std::vector<MetricFamily>* families) {
  for (size_t i = families->size(); i-- > 0;) {
    for (const auto& [name, former] : kFormerNames) {
      if ((*families)[i].name != name) continue;
      MetricFamily copy = (*families)[i];
      copy.name = former;
      copy.help = absl::StrCat("Renamed to ", name,
                               "; a later release removes this name.");
      families->push_back(std::move(copy));
    }
  }
}

}  // namespace

void Page::Add(Source source) {
  absl::MutexLock lock(&mutex_);
  sources_.push_back(std::move(source));
}

std::vector<MetricFamily> Page::Collect() const {
  std::vector<Source> sources;
  {
    absl::MutexLock lock(&mutex_);
    sources = sources_;
  }
  Families families;
  for (const Source& source : sources) source(&families);
  DescribeCounters(&families);
  std::vector<MetricFamily> taken = families.Take();
  AddFormerNames(&taken);
  return taken;
}

std::string Page::Text() const {
  return prometheus::TextSerializer().Serialize(Collect());
}

}  // namespace kamino::metrics
