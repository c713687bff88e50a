#include "tests/engine/crash/planted_faults.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/explore.h"
#include "glog/logging.h"
#include "tests/engine/crash/faulty_region.h"
#include "tests/engine/crash/faulty_store.h"
#include "tests/faults/fault.h"

namespace kamino::engine::crash {
namespace {

constexpr uint64_t kSeedsToMeet = 100;

}  // namespace

const std::vector<PlantedFault>& PlantedFaults() {
  static const auto* const faults = new std::vector<PlantedFault>{
      {"region-no-flush", "kamino-simple"},
      {"region-no-drain", "kamino-simple"},
      {"region-small-flush-lost", "kamino-simple"},
      {"region-large-flush-lost", "kamino-simple"},
      {"region-log-not-flushed", "kamino-simple"},
      {"region-one-flush-in-five-lost", "kamino-simple"},
      {"region-flush-misses-last-line", "kamino-simple"},
      {"region-flush-misses-first-line", "kamino-simple"},
      {"region-flush-follows-drain", "kamino-simple"},
      {"region-every-other-drain-lost", "kamino-simple"},
      {"backup:region-no-flush", "kamino-simple"},
      {"backup:region-no-drain", "kamino-simple"},
      {"backup:region-copy-not-flushed", "kamino-simple"},
      {"backup:region-copy-flushes-first", "kamino-dynamic"},
      {"backup:region-every-other-drain-lost", "kamino-dynamic"},
      {"backup:region-flush-misses-last-line", "kamino-dynamic"},
      {"backup:region-small-flush-lost", "kamino-dynamic"},
      {"transaction-write-not-declared", "kamino-simple"},
      {"transaction-intent-too-short", "kamino-simple"},
      {"transaction-intent-misplaced", "kamino-simple"},
      {"transaction-stores-before-intent", "kamino-simple"},
      {"transaction-free-forgotten", "kamino-simple"},
      {"transaction-commit-ignored", "kamino-simple"},
      {"transaction-abort-commits", "kamino-simple"},
      {"heap-state-not-flushed", "kamino-simple"},
      {"heap-recovered-state-not-flushed", "undo-own"},
      {"heap-recovers-allocs-only", "undo-own"},
      {"kamino-no-intent", "kamino-simple"},
      {"kamino-intent-not-drained", "kamino-simple"},
      {"kamino-new-object-not-flushed", "kamino-simple"},
      {"kamino-write-not-flushed", "kamino-simple"},
      {"kamino-marks-blocks-first", "kamino-simple"},
      {"kamino-commit-not-drained", "kamino-simple"},
      {"kamino-unlocks-before-sync", "kamino-simple"},
      {"kamino-eviction-keeps-intent", "kamino-dynamic"},
      {"kamino-frees-not-marked", "kamino-simple"},
      {"kamino-kept-words-stay", "kamino-simple"},
      {"sticky-replaced-entry-stays", "kamino-dynamic"},
      {"log-forgets-sequence", "kamino-simple"},
      {"recovery-forgets-sequence", "kamino-simple"},
      {"recovery-old-records-count", "kamino-simple"},
      {"recovery-trusts-records", "kamino-simple"},
      {"recovery-trusts-none", "kamino-simple"},
      {"recovery-restores-nothing", "kamino-simple"},
      {"recovery-forgets-first", "kamino-simple"},
      {"recovery-backup-stays", "kamino-simple"},
      {"backup-evicts-pinned", "kamino-dynamic"},
      {"backup-state-with-content", "kamino-dynamic"},
      {"backup-states-with-contents", "kamino-dynamic"},
      {"kamino-expected-not-drained", "kamino-dynamic"},
      {"undo-log-takes-back-what-is-committed", "undo-log"},
      {"undo-log-takes-back-the-newest", "undo-log"},
      {"undo-log-records-are-not-chained", "undo-log"},
      {"undo-log-saves-in-one-place", "undo-log"},
      {"kamino-aborts-keep-what-is-saved", "undo-log"},
      {"kamino-saved-is-not-drained", "undo-log"},
      {"kamino-free-stores-what-is-not-saved", "undo-log"},
      {"allocator-extent-not-grown", "kamino-simple"},
      {"allocator-no-drain-after-growth", "kamino-dynamic"},
      {"allocator-shrinks-first", "kamino-simple"},
      {"allocator-no-header-for-the-rest", "kamino-simple"},
      {"allocator-no-drain-before-shrinking", "kamino-simple"},
      {"allocator-no-last-drain", "kamino-simple"},
      {"allocator-header-not-flushed", "kamino-simple"},
      {"allocator-gives-too-much", "kamino-simple"},
      {"allocator-walk-forgets-small", "kamino-simple"},
      {"rewind-losers-not-undone", "rewind-1-noforce-batch"},
      {"rewind-losers-not-undone", "rewind-2-force-batch"},
      {"rewind-redo-every-clr", "rewind-1-force-optimized"},
      {"rewind-compensations-in-groups", "rewind-1-force-batch"},
      {"rewind-store-before-index", "rewind-1-force-batch"},
      {"rewind-store-before-index", "rewind-1-noforce-batch"},
      {"rewind-no-floor", "rewind-1-noforce-optimized"},
      {"rewind-floor-by-record", "rewind-1-noforce-optimized"},
      {"rewind-floor-stays", "rewind-1-noforce-optimized"},
      {"rewind-checkpoint-flushes-nothing", "rewind-1-noforce-simple"},
      {"rewind-end-cleared-with-rest", "rewind-1-force-optimized"},
      {"rewind-clearing-forgets-sequence", "rewind-1-force-batch"},
      {"rewind-halves-of-two-sequences", "rewind-1-force-batch"},
      {"rewind-freed-before-checkpoint", "rewind-1-noforce-batch"},
      {"rewind-removal-not-done-again", "rewind-1-force-simple"},
      {"rewind-words-not-put-back", "rewind-2-force-simple"},
      {"rewind-words-leave-after-end", "rewind-2-force-optimized"},
      {"wrap-close-not-drained", "wrap"},
      {"wrap-replay-in-bucket-order", "wrap"},
      {"wrap-bucket-reused-before-retired", "wrap"},
      {"wrap-marker-without-hash", "wrap"},
      {"wrap-allocator-flushes-home", "wrap"},
      {"wrap-retired-before-home", "wrap"},
      {"wrap-retired-passes-what-waits", "wrap"},
      {"wrap-retirement-forgets-sequence", "wrap"},
      {"wrap-replay-not-drained", "wrap"},
      {"wrap-recovery-keeps-retired-in-cache", "wrap"},
      {"wrap-locks-fall-first", "wrap"},
      {"wrap-logs-first-bytes-alone", "wrap"},
      {"wrap-abort-oldest-first", "wrap"},
      {"archapt-physical-out-of-order", "archapt"},
      {"archapt-log-dropped-before-seal", "archapt"},
      {"archapt-sum-only", "archapt"},
      {"archapt-member-written-while-sealed", "archapt"},
      {"archapt-rollback-before-repair", "archapt"},
      {"archapt-loss-not-reported", "archapt"},
      {"archapt-losses-are-forgotten", "archapt"},
      {"archapt-taken-back-is-lost", "archapt"},
      {"archapt-dissolved-without-flush", "archapt"},
      {"archapt-dissolved-with-flush", "archapt"},
      {"archapt-sealed-with-sums", "archapt"},
      {"archapt-flushes-not-drained", "archapt"},
      {"archapt-claim-not-drained", "archapt"},
      {"archapt-owed-not-flushed", "archapt"},
      {"archapt-part-of-line-is-whole", "archapt"},
      {"archapt-pending-not-flushed", "archapt"},
      {"archapt-headers-not-flushed", "archapt"},
      {"archapt-undo-not-drained", "archapt"},
      {"archapt-aborts-have-no-end", "archapt"},
      {"archapt-watermark-leaves-with-tail", "archapt"},
      {"archapt-freed-before-physical", "archapt"},
      {"archapt-aborts-fill-the-log", "archapt-gainful"},
      {"archapt-watermark-follows-tail", "archapt-gainful"},
      {"region-drain-forgets-a-page", "kamino-simple", /*pages=*/true},
      {"region-no-drain", "kamino-simple", true},
      {"backup:region-every-other-drain-lost", "kamino-dynamic", true},
      {"transaction-stores-before-intent", "kamino-simple", true},
      {"kamino-intent-not-drained", "kamino-simple", true},
      {"kamino-commit-not-drained", "kamino-simple", true},
      {"kamino-saved-is-not-drained", "undo-log", true},
  };
  return *faults;
}

Trial RunWithFault(const PlantedFault& fault, uint64_t seeds) {
  const Scheme* scheme = nullptr;
  for (const Scheme& one : Schemes()) {
    if (one.name == fault.scheme) scheme = &one;
  }
  CHECK(scheme != nullptr) << fault.scheme;
  check_intents = false;  // the harness is to notice by itself
  RunOptions options;
  options.explorer.pages = fault.pages;
  options.explorer.at_start = [&fault] { faults::PlantFault(fault.name); };
  options.explorer.decorate = [&fault](Region* memory, size_t area) {
    return MakeFaultyRegion(fault.name, area, memory);
  };
  const Scheme faulty = WithFaultyStore(*scheme);
  bool met = fault.name.empty();
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    faults::PlantFault("");
    const RunResult result = Run(faulty, seed, options);
    met |= faults::PlantedFaultWasMet();
    if (!result.failure.empty()) {
      return {/*noticed=*/met,
              absl::StrCat("seed ", seed, ", ", result.counts.images,
                           " images\n", result.failure)};
    }
    if (!met && seed == kSeedsToMeet) {
      return {/*noticed=*/false,
              absl::StrCat("no seed up to ", seed, " came by the fault")};
    }
  }
  return {};
}

}  // namespace kamino::engine::crash
