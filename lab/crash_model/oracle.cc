#include "lab/crash_model/oracle.h"

#include <xxhash.h>

#include <algorithm>

#include "glog/logging.h"

namespace kamino::bench::crash_model {

uint64_t HashOf(absl::Span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

void Oracle::Add(uint64_t sequence, absl::Span<const Change> changes,
                 uint64_t durable) {
  for (const Change& change : changes) {
    Versions& versions = objects_[change.id];
    CHECK(versions.empty() || versions.back().sequence < sequence);
    const auto later = std::find_if(
        versions.begin(), versions.end(),
        [durable](const Version& v) { return v.sequence > durable; });
    if (later - versions.begin() > 1) {
      versions.erase(versions.begin(), later - 1);
    }
    versions.push_back({sequence, change.bytes, change.hash});
  }
}

void Oracle::RemoveLast(uint64_t sequence, absl::Span<const Change> changes) {
  for (const Change& change : changes) {
    Versions& versions = objects_[change.id];
    CHECK_EQ(versions.back().sequence, sequence);
    versions.pop_back();
    if (versions.empty()) objects_.erase(change.id);
  }
}

std::vector<ExpectedObject> Oracle::AsOf(uint64_t sequence) const {
  std::vector<ExpectedObject> expected;
  expected.reserve(objects_.size());
  for (const auto& [id, versions] : objects_) {
    const auto last = std::find_if(
        versions.rbegin(), versions.rend(),
        [sequence](const Version& v) { return v.sequence <= sequence; });
    if (last == versions.rend() || last->bytes == 0) continue;
    expected.push_back(
        {id, last->bytes, last->hash, last == versions.rbegin()});
  }
  std::sort(expected.begin(), expected.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  return expected;
}

std::vector<Oracle::Place> Oracle::Places() const {
  std::vector<Place> places;
  places.reserve(objects_.size());
  for (const auto& [id, versions] : objects_) {
    uint32_t most = 0;
    for (const Version& version : versions) {
      most = std::max(most, version.bytes);
    }
    if (most > 0) places.push_back({id, most});
  }
  std::sort(places.begin(), places.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  return places;
}

}  // namespace kamino::bench::crash_model
