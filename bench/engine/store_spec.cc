#include "bench/engine/store_spec.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/baselines/heap_store.h"
#include "engine/baselines/open_store.h"
#include "engine/baselines/wrap/wrap_format.h"

namespace kamino::bench {
namespace {

using engine::HeapScheme;

constexpr char kDynamic[] = "kamino-dynamic";

}  // namespace

std::string StoreSpec::Name() const {
  std::string name = scheme;
  if (alpha.has_value()) absl::StrAppend(&name, "@", *alpha);
  if (!tuning.empty()) absl::StrAppend(&name, "+", tuning);
  return name;
}

bool StoreSpec::atomic() const {
  const auto heap_scheme = engine::HeapSchemeNamed(scheme);
  return !heap_scheme.has_value() || engine::IsAtomic(*heap_scheme);
}

absl::StatusOr<StoreSpec> StoreNamed(absl::string_view name) {
  StoreSpec spec;
  std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(name, absl::MaxSplits('+', 1));
  spec.tuning = std::string(parts.second);
  parts = absl::StrSplit(parts.first, absl::MaxSplits('@', 1));
  spec.scheme = std::string(parts.first);
  if (!parts.second.empty()) {
    double alpha = 0;
    if (spec.scheme != kDynamic || !absl::SimpleAtod(parts.second, &alpha) ||
        !(alpha > 0 && alpha <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", name, "\": only ", kDynamic, " has an alpha, in (0, 1]"));
    }
    spec.alpha = alpha;
  } else if (spec.scheme == kDynamic) {
    spec.alpha = kAlpha;
  }
  if (IsWrapAlone(spec)) return spec;
  const auto called = [&spec](const StoreSpec& store) {
    return store.scheme == spec.scheme;
  };
  std::vector<StoreSpec> all = AllStores();
  for (StoreSpec& more : MoreStores()) all.push_back(std::move(more));
  if (std::none_of(all.begin(), all.end(), called)) {
    return absl::InvalidArgumentError(
        absl::StrCat("no store is called \"", spec.scheme, "\""));
  }
  if (!spec.tuning.empty() && !RewindOf(spec).has_value() &&
      !ArchaptOf(spec).has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", name, "\": ", spec.scheme, " has no \"", spec.tuning, "\""));
  }
  return spec;
}

bool IsWrapAlone(const StoreSpec& spec) {
  return spec.scheme == engine::wrap_format::kLabel && spec.tuning == "alone";
}

std::vector<StoreSpec> AllStores() {
  std::vector<StoreSpec> stores;
  for (absl::string_view name : engine::SchemeNames()) {
    stores.push_back({std::string(name), {}});
    if (name == kDynamic) stores.back().alpha = kAlpha;
  }
  return stores;
}

std::vector<StoreSpec> AtomicStores() {
  std::vector<StoreSpec> stores = AllStores();
  stores.erase(
      std::remove_if(stores.begin(), stores.end(),
                     [](const StoreSpec& spec) { return !spec.atomic(); }),
      stores.end());
  return stores;
}

std::vector<StoreSpec> MoreStores() {
  std::vector<StoreSpec> stores;
  for (const engine::RewindOptions& options : engine::AllRewinds()) {
    const std::string name = options.Name();
    if (name != engine::RewindOptions().Name()) stores.push_back({name, {}});
  }
  for (HeapScheme scheme :
       {HeapScheme::kUnsafeEach, HeapScheme::kCached, HeapScheme::kUndoEach}) {
    stores.push_back({std::string(engine::HeapSchemeName(scheme)), {}});
  }
  return stores;
}

std::optional<engine::ArchaptOptions> ArchaptOf(const StoreSpec& spec) {
  if (spec.scheme != engine::kArchaptName) return std::nullopt;
  engine::ArchaptOptions options;
  if (spec.tuning == "unchecked") {
    options.unchecked = true;
  } else if (!spec.tuning.empty()) {
    return std::nullopt;
  }
  return options;
}

std::optional<RewindTuning> RewindOf(const StoreSpec& spec) {
  const auto named = engine::RewindNamed(spec.scheme);
  if (!named.has_value()) return std::nullopt;
  RewindTuning tuning{*named};
  for (absl::string_view word :
       absl::StrSplit(spec.tuning, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(word, absl::MaxSplits('=', 1));
    size_t number = 0;
    // OpenForBench refuses numbers that are too large for the store.
    const bool numbered = absl::SimpleAtoi(parts.second, &number) && number > 0;
    if (parts.first == "group" && numbered) {
      tuning.options.group = number;
    } else if (parts.first == "bucket" && numbered) {
      tuning.options.bucket = number;
    } else if (parts.first == "checkpoint" && numbered) {
      tuning.options.checkpoint_records = number;
    } else if (word == "scans") {
      tuning.options.scans = true;
    } else if (word == "keeps") {
      tuning.options.clears_at_commit = false;
    } else if (word == "alone") {
      tuning.alone = true;
    } else {
      return std::nullopt;
    }
  }
  return tuning;
}

}  // namespace kamino::bench
