#include "metrics/counters.h"

#include "glog/logging.h"

namespace kamino::metrics {
namespace {

// All metrics of one type.
template <typename Value>
struct Defined {
  absl::Mutex mutex;
  std::map<std::string, const Labelled<Value>*> by_name ABSL_GUARDED_BY(mutex);

  static Defined& Get() {
    static auto* const defined = new Defined;
    return *defined;
  }

  static std::vector<const Labelled<Value>*> All() {
    Defined& defined = Get();
    absl::MutexLock lock(&defined.mutex);
    std::vector<const Labelled<Value>*> all;
    for (const auto& [name, each] : defined.by_name) all.push_back(each);
    return all;
  }
};

}  // namespace

template <typename Value>
Labelled<Value>::Labelled(std::string name, std::string help,
                          std::vector<std::string> labels) {
  state_->name = std::move(name);
  state_->help = std::move(help);
  state_->labels = std::move(labels);
  if (state_->labels.empty()) Of({});  // on the page from the start, at 0
  auto& defined = Defined<Value>::Get();
  absl::MutexLock lock(&defined.mutex);
  CHECK(defined.by_name.emplace(this->name(), this).second)
      << this->name() << ": twice";
}

template <typename Value>
Value* Labelled<Value>::Of(const LabelValues& values) {
  CHECK_EQ(values.size(), labels().size()) << name();
  absl::MutexLock lock(&state_->mutex);
  const auto found = state_->values.find(values);
  if (found != state_->values.end()) return found->second.get();
  auto& value = state_->values.size() < kMaxSets
                    ? state_->values[values]
                    : state_->values[LabelValues(labels().size(), "other")];
  if (value == nullptr) value = std::make_unique<Value>();
  return value.get();
}

template <typename Value>
auto Labelled<Value>::All() const
    -> std::vector<std::pair<LabelValues, const Value*>> {
  absl::MutexLock lock(&state_->mutex);
  std::vector<std::pair<LabelValues, const Value*>> all;
  for (const auto& [values, value] : state_->values) {
    all.emplace_back(values, value.get());
  }
  return all;
}

template class Labelled<Counter>;
template class Labelled<Latencies>;

std::vector<const Counters*> AllCounters() { return Defined<Counter>::All(); }

std::vector<const LatencyCounters*> AllLatencyCounters() {
  return Defined<Latencies>::All();
}

}  // namespace kamino::metrics
