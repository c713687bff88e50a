// The schemes that take part, by name.
#ifndef KAMINO_BENCH_ENGINE_STORE_SPEC_H_
#define KAMINO_BENCH_ENGINE_STORE_SPEC_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/baselines/scheme.h"
#include "engine/pmem/delay_region.h"

namespace kamino::bench {

// Alpha of kamino-dynamic, where a bench does not vary it.
inline constexpr double kAlpha = 0.5;

struct StoreSpec {
  std::string scheme;
  std::optional<double> alpha;  // kamino-dynamic's, of the heap's size
  // Delays of all its files; only where they can be slowed.
  engine::PmemDelays delays = {};
  // OpenedStore::set_drain_ns changes them.
  bool drains_vary = false;
  // Differences from the scheme's defaults: "group=16,scans" (StoreNamed).
  std::string tuning = {};

  // The scheme, with its alpha and its tuning if it has them:
  // "kamino-dynamic@0.5", "rewind-1-noforce-batch+group=16".
  std::string Name() const;
  // Whether Abort takes stores back.
  bool atomic() const;
  // No thread works beside the store: the tuning has the word "alone".
  bool alone() const;
  // The options with which to open the scheme's store.
  engine::StoreOptions Options() const;
};

// Parses a name as StoreSpec::Name has it. The tuning is the scheme's own
// options (engine::StoreOptions::scheme_options), and "alone" where a thread
// works beside the store. kInvalidArgument: no such scheme, or the scheme has
// no such tuning.
absl::StatusOr<StoreSpec> StoreNamed(absl::string_view name);

// One scheme of each kind that this program has linked, kamino-simple first.
std::vector<StoreSpec> AllStores();
// Those whose transactions are atomic.
std::vector<StoreSpec> AtomicStores();

// The other schemes that this program has linked, which take part on request.
std::vector<StoreSpec> MoreStores();

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_STORE_SPEC_H_
