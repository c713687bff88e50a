// Registers Archapt.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/baselines/option_text.h"
#include "engine/baselines/scheme.h"
#include "lab/archapt/archapt_mover.h"
#include "lab/archapt/archapt_options.h"
#include "lab/archapt/archapt_store.h"

namespace kamino::engine {
namespace {

constexpr int kRank = 3;
constexpr uint64_t kPage = 4096;

absl::StatusOr<ArchaptOptions> Parse(absl::string_view text) {
  ArchaptOptions options;
  OptionText words(text);
  words.Read("queue_bytes", &options.queue_bytes);
  words.Read("columns", &options.columns);
  words.Read("matrix_wait", &options.matrix_wait);
  words.Read("patience", &options.patience);
  words.Read("log_wait", &options.log_wait);
  if (words.Has("all_objects")) options.gainful_only = false;
  if (words.Has("unchecked")) options.unchecked = true;
  RETURN_IF_ERROR(words.Finish(kArchaptName));
  return options;
}

absl::StatusOr<std::unique_ptr<Heap>> MakeHeap(Region* region,
                                               const ArchaptOptions& options) {
  return Heap::CreateWithLog(region, ArchaptLabel(options),
                             ArchaptLogBytes(options, region->size()));
}

std::vector<std::pair<std::string, double>> CountersOf(
    const ArchaptStats& stats) {
  return {{"lines of objects", static_cast<double>(stats.flushed_lines)},
          {"lines skipped", static_cast<double>(stats.skipped_lines)},
          {"lines replaced", static_cast<double>(stats.replaced_lines)},
          {"lines of sums", static_cast<double>(stats.sums_lines)},
          {"matrices", static_cast<double>(stats.matrices)},
          {"matrices dissolved", static_cast<double>(stats.dissolved)}};
}

absl::StatusOr<SchemeStore> Open(StoreRegions& regions,
                                 const StoreOptions& options) {
  ASSIGN_OR_RETURN(const ArchaptOptions archapt, Parse(options.scheme_options));
  if (archapt.unchecked && !(options.may_lose && options.fresh)) {
    return absl::InvalidArgumentError(
        absl::StrCat("scheme \"", kArchaptName,
                     "\": a store with the option \"unchecked\" survives no "
                     "crash; only a benchmark can make one"));
  }
  SchemeStore made;
  ASSIGN_OR_RETURN(Region* const region, regions.OpenHeap());
  ASSIGN_OR_RETURN(made.heap, options.fresh
                                  ? MakeHeap(region, archapt)
                                  : OpenLabelled(region, ArchaptLabel(archapt),
                                                 /*fresh=*/false));
  made.objects = made.heap.get();
  ASSIGN_OR_RETURN(auto store, ArchaptStore::Open(archapt, made.heap.get()));
  made.counters = [counted = store.get()] {
    return CountersOf(counted->stats());
  };
  if (options.background) {
    made.worker = std::make_shared<ArchaptMover>(store.get());
  }
  made.store = std::move(store);
  return made;
}

// Has room for sums as well, and for a log beside the objects.
uint64_t RegionBytes(uint64_t object_bytes) {
  const uint64_t objects = HeapRegionBytes(object_bytes + object_bytes / 6);
  const uint64_t log =
      std::min<uint64_t>(objects / 3, 2 * ArchaptOptions().queue_bytes);
  return (objects + log + kPage) / kPage * kPage;
}

Scheme Archapt() {
  Scheme scheme;
  scheme.name = kArchaptName;
  scheme.rank = kRank;
  scheme.works_beside = true;
  scheme.check_options = [](absl::string_view text) {
    return Parse(text).status();
  };
  scheme.open = Open;
  scheme.region_bytes = RegionBytes;
  return scheme;
}

const LinkedScheme kLinked(Archapt());

}  // namespace
}  // namespace kamino::engine
