// Archapt's table 4: YCSB on Archapt's store, behind a model of a cache,
// crashed many times; what was not on the medium though its transaction is
// committed physically, and whether recovery finds it.
#ifndef KAMINO_LAB_CRASH_MODEL_CRASH_MODEL_H_
#define KAMINO_LAB_CRASH_MODEL_CRASH_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/engine/workload.h"
#include "engine/heap/heap.h"
#include "engine/pmem/plain_region.h"
#include "lab/archapt/archapt_options.h"
#include "lab/archapt/archapt_store.h"
#include "lab/crash_model/cached_region.h"
#include "lab/crash_model/recovered.h"
#include "lab/crash_model/watched_store.h"

namespace kamino::bench::crash_model {

struct CrashModelOptions {
  CacheSize cache;
  engine::ArchaptOptions archapt;
  Scale scale = Scale::kQuick;  // of YCSB's records
  int crashes = 100;
  // Average number from one crash to the next, and before the first. A tenth of
  // both where transactions scan.
  uint64_t transactions = 4000;
  uint64_t warm_up = 100'000;
  uint64_t seed = 1;
};

// The result of one workload.
struct CrashRow {
  std::string workload;
  uint64_t crashes = 0;
  uint64_t transactions = 0;
  uint64_t matrices = 0;       // sealed meanwhile
  uint64_t skipped_lines = 0;  // in matrices at a crash, in all crashes
  CrashCounts counts;
};

// The workloads that table 4 has of YCSB, by letter: those that write.
inline constexpr char kCrashedWorkloads[] = "abdef";

// One store, filled once, that is never closed between workloads. For one
// thread.
class CrashModel {
 public:
  static absl::StatusOr<std::unique_ptr<CrashModel>> Make(
      const CrashModelOptions& options);
  ~CrashModel();

  // Runs the workload and lets it crash at random points. The store goes on as
  // if it had not; each crash's image is recovered beside it. An error: one
  // could not be recovered, or to no state that may be.
  absl::StatusOr<CrashRow> Run(char letter);

 private:
  explicit CrashModel(const CrashModelOptions& options);

  absl::Status Open();
  absl::Status Transact(Worker& worker, uint64_t transactions);
  // Called within one of the region's calls.
  void CrashPoint();
  absl::Status Crash();

  const CrashModelOptions options_;
  const std::unique_ptr<Suite> suite_;
  Random random_;
  std::unique_ptr<CachedRegion> region_;
  std::unique_ptr<engine::PlainRegion> image_;
  std::unique_ptr<engine::Heap> heap_;
  std::unique_ptr<engine::ArchaptStore> store_;
  std::unique_ptr<WatchedStore> watched_;
  std::unique_ptr<Dataset> dataset_;

  uint64_t calls_to_crash_ = 0;  // of the region; 0: it does not crash
  CrashRow row_;
  absl::Status status_;
};

}  // namespace kamino::bench::crash_model

#endif  // KAMINO_LAB_CRASH_MODEL_CRASH_MODEL_H_
