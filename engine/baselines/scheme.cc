#include "engine/baselines/scheme.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

constexpr uint64_t kHeapOverhead = 6u << 20;
constexpr uint64_t kMaxLog = 16u << 20;
constexpr uint64_t kPage = 4096;

std::vector<std::unique_ptr<const Scheme>>& Registered() {
  static auto* const schemes = new std::vector<std::unique_ptr<const Scheme>>;
  return *schemes;
}

}  // namespace

LinkedScheme::LinkedScheme(Scheme scheme) {
  for (const std::string& name : {scheme.name, scheme.alias}) {
    CHECK(SchemeNamed(name) == nullptr) << "two schemes are named " << name;
  }
  auto& schemes = Registered();
  // Static initialisation has no order across files.
  const auto after = std::find_if(
      schemes.begin(), schemes.end(),
      [&](const auto& other) { return other->rank > scheme.rank; });
  schemes.insert(after, std::make_unique<const Scheme>(std::move(scheme)));
}

std::vector<const Scheme*> LinkedSchemes() {
  std::vector<const Scheme*> schemes;
  for (const auto& scheme : Registered()) schemes.push_back(scheme.get());
  return schemes;
}

const Scheme* SchemeNamed(absl::string_view name) {
  if (name.empty()) return nullptr;
  for (const auto& scheme : Registered()) {
    if (scheme->name == name || scheme->alias == name) return scheme.get();
  }
  return nullptr;
}

uint64_t HeapRegionBytes(uint64_t object_bytes) {
  const uint64_t sum =
      object_bytes + std::min(object_bytes / 15, kMaxLog) + kHeapOverhead;
  return (sum + kPage - 1) / kPage * kPage;
}

absl::StatusOr<std::unique_ptr<Heap>> OpenLabelled(Region* region,
                                                   absl::string_view label,
                                                   bool fresh) {
  if (fresh) return Heap::Create(region, label);
  auto heap = Heap::Open(region);
  if (heap.ok() && (*heap)->label() != label) {
    return absl::FailedPreconditionError(
        absl::StrCat("the heap is one of \"", (*heap)->label(), "\""));
  }
  return heap;
}

}  // namespace kamino::engine
