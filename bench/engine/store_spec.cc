#include "bench/engine/store_spec.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "engine/baselines/heap_store.h"

namespace kamino::bench {
namespace {

constexpr char kDynamic[] = "kamino-dynamic";
constexpr char kAlone[] = "alone";

std::vector<absl::string_view> WordsOf(absl::string_view tuning) {
  return absl::StrSplit(tuning, ',', absl::SkipEmpty());
}

// The tuning without "alone".
std::string SchemeOptions(absl::string_view tuning) {
  std::vector<absl::string_view> words = WordsOf(tuning);
  words.erase(std::remove(words.begin(), words.end(), kAlone), words.end());
  return absl::StrJoin(words, ",");
}

std::vector<StoreSpec> Linked(bool represents) {
  std::vector<StoreSpec> stores;
  for (const engine::Scheme* scheme : engine::LinkedSchemes()) {
    if (scheme->represents != represents) continue;
    stores.push_back({scheme->name, {}});
    if (scheme->name == kDynamic) stores.back().alpha = kAlpha;
  }
  return stores;
}

absl::Status CheckTuning(const engine::Scheme& scheme, const StoreSpec& spec) {
  if (spec.tuning.empty()) return absl::OkStatus();
  const std::string own = SchemeOptions(spec.tuning);
  if (spec.alone() && !scheme.works_beside) {
    return absl::InvalidArgumentError("no thread works beside it");
  }
  if (own.empty()) return absl::OkStatus();
  if (scheme.check_options) return scheme.check_options(own);
  return absl::InvalidArgumentError("it has no options");
}

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

bool StoreSpec::alone() const {
  const std::vector<absl::string_view> words = WordsOf(tuning);
  return std::find(words.begin(), words.end(), kAlone) != words.end();
}

engine::StoreOptions StoreSpec::Options() const {
  engine::StoreOptions options;
  options.mode = engine::PmemMode::kForce;
  options.may_lose = true;
  options.alpha = alpha.value_or(kAlpha);
  options.background = !alone();
  options.scheme_options = SchemeOptions(tuning);
  return options;
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
  const engine::Scheme* const scheme = engine::SchemeNamed(spec.scheme);
  if (scheme == nullptr || scheme->name != spec.scheme) {
    return absl::InvalidArgumentError(
        absl::StrCat("no store is called \"", spec.scheme, "\""));
  }
  const absl::Status tuned = CheckTuning(*scheme, spec);
  if (!tuned.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name, "\": ", spec.scheme, " has no \"", spec.tuning,
                     "\": ", tuned.message()));
  }
  return spec;
}

std::vector<StoreSpec> AllStores() { return Linked(/*represents=*/true); }

std::vector<StoreSpec> AtomicStores() {
  std::vector<StoreSpec> stores = AllStores();
  stores.erase(
      std::remove_if(stores.begin(), stores.end(),
                     [](const StoreSpec& spec) { return !spec.atomic(); }),
      stores.end());
  return stores;
}

std::vector<StoreSpec> MoreStores() { return Linked(/*represents=*/false); }

}  // namespace kamino::bench
