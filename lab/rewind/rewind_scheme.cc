// Registers REWIND's twelve configurations.
#include <memory>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "engine/baselines/option_text.h"
#include "engine/baselines/scheme.h"
#include "lab/rewind/rewind_checkpointer.h"
#include "lab/rewind/rewind_options.h"
#include "lab/rewind/rewind_store.h"

namespace kamino::engine {
namespace {

constexpr int kRank = 1;

// The scheme's name decides what is on media, `text` the rest.
absl::StatusOr<RewindOptions> Parse(RewindOptions options,
                                    absl::string_view text) {
  OptionText words(text);
  words.Read("bucket", &options.bucket);
  words.Read("group", &options.group);
  words.Read("checkpoint", &options.checkpoint_records);
  words.Read("log_wait", &options.log_wait);
  if (words.Has("scans")) options.scans = true;
  if (words.Has("keeps")) options.clears_at_commit = false;
  RETURN_IF_ERROR(words.Finish(options.Name()));
  RETURN_IF_ERROR(CheckRewind(options));
  return options;
}

absl::StatusOr<SchemeStore> Open(const RewindOptions& named,
                                 StoreRegions& regions,
                                 const StoreOptions& options) {
  ASSIGN_OR_RETURN(const RewindOptions rewind,
                   Parse(named, options.scheme_options));
  SchemeStore made;
  ASSIGN_OR_RETURN(Region* const region, regions.OpenHeap());
  ASSIGN_OR_RETURN(made.heap,
                   OpenLabelled(region, rewind.Name(), options.fresh));
  made.objects = made.heap.get();
  ASSIGN_OR_RETURN(auto store, RewindStore::Open(rewind, made.heap.get()));
  if (rewind.keeps_finished() && options.background) {
    made.worker = std::make_shared<RewindCheckpointer>(store.get());
  }
  made.store = std::move(store);
  return made;
}

bool Registered() {
  for (const RewindOptions& named : AllRewinds()) {
    Scheme scheme;
    scheme.name = named.Name();
    scheme.rank = kRank;
    scheme.represents = scheme.name == RewindOptions().Name();
    if (scheme.represents) scheme.alias = "rewind";
    scheme.works_beside = true;
    scheme.check_options = [named](absl::string_view text) {
      return Parse(named, text).status();
    };
    scheme.open = [named](StoreRegions& regions, const StoreOptions& options) {
      return Open(named, regions, options);
    };
    LinkedScheme linked(std::move(scheme));
  }
  return true;
}

const bool kRegistered = Registered();

}  // namespace
}  // namespace kamino::engine
