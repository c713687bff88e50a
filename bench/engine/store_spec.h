// The schemes that take part, by name.
#ifndef KAMINO_BENCH_ENGINE_STORE_SPEC_H_
#define KAMINO_BENCH_ENGINE_STORE_SPEC_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/baselines/archapt/archapt_options.h"
#include "engine/baselines/rewind/rewind_options.h"
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
};

// Parses a name as StoreSpec::Name has it. REWIND's "group", "bucket" and
// "checkpoint" (records) have a number; its "scans", "keeps"
// (RewindOptions::clears_at_commit is false) and "alone" (no thread makes its
// checkpoints) have none, as Archapt's "unchecked" (ArchaptOptions).
// kInvalidArgument: no such scheme, or the scheme has no such tuning.
absl::StatusOr<StoreSpec> StoreNamed(absl::string_view name);

// Every scheme this build has, kamino-simple first.
std::vector<StoreSpec> AllStores();
// Those whose transactions are.
std::vector<StoreSpec> AtomicStores();

// Schemes that take part on request: REWIND's other configurations, and the
// rivals of papers.
std::vector<StoreSpec> MoreStores();

// Whether a spec is WrAP's with the tuning "alone": no thread retires.
bool IsWrapAlone(const StoreSpec& spec);

// A spec's options of REWIND. Nothing: it is another scheme's, or its tuning is
// not REWIND's.
struct RewindTuning {
  engine::RewindOptions options;
  bool alone = false;  // no thread makes checkpoints
};
std::optional<RewindTuning> RewindOf(const StoreSpec& spec);
// The same of Archapt.
std::optional<engine::ArchaptOptions> ArchaptOf(const StoreSpec& spec);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_STORE_SPEC_H_
