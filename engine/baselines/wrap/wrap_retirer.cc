#include "engine/baselines/wrap/wrap_retirer.h"

#include <cstdint>

#include "absl/time/time.h"

namespace kamino::engine {
namespace {

// Wraps that close within it share the drains of their retirement.
constexpr absl::Duration kPeriod = absl::Milliseconds(1);

}  // namespace

WrapRetirer::WrapRetirer(WrapStore* store)
    : worker_("wrap-retirer", kPeriod, [store] {
        store->Retire(SIZE_MAX);
        return store->WantsRetire();
      }) {}

}  // namespace kamino::engine
