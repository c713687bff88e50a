// Registers WrAP.
#include <memory>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "engine/baselines/option_text.h"
#include "engine/baselines/scheme.h"
#include "lab/wrap/wrap_retirer.h"
#include "lab/wrap/wrap_store.h"

namespace kamino::engine {
namespace {

constexpr int kRank = 2;

absl::StatusOr<WrapOptions> Parse(absl::string_view text) {
  WrapOptions options;
  OptionText words(text);
  words.Read("log_bytes", &options.log_bytes);
  words.Read("bucket_bytes", &options.bucket_bytes);
  words.Read("log_wait", &options.log_wait);
  RETURN_IF_ERROR(words.Finish(wrap_format::kLabel));
  return options;
}

absl::StatusOr<SchemeStore> Open(StoreRegions& regions,
                                 const StoreOptions& options) {
  ASSIGN_OR_RETURN(const WrapOptions wrap, Parse(options.scheme_options));
  ASSIGN_OR_RETURN(Region* const region, regions.OpenHeap());
  ASSIGN_OR_RETURN(auto store, options.fresh ? WrapStore::Create(region, wrap)
                                             : WrapStore::Open(region, wrap));
  SchemeStore made;
  made.objects = store->heap();
  if (options.background) {
    made.worker = std::make_shared<WrapRetirer>(store.get());
  }
  made.store = std::move(store);
  return made;
}

Scheme Wrap() {
  Scheme scheme;
  scheme.name = wrap_format::kLabel;
  scheme.rank = kRank;
  scheme.works_beside = true;
  scheme.check_options = [](absl::string_view text) {
    return Parse(text).status();
  };
  scheme.open = Open;
  return scheme;
}

const LinkedScheme kLinked(Wrap());

}  // namespace
}  // namespace kamino::engine
