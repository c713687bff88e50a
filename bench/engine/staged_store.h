// A store whose transactions do less than they are asked for, up to a stage, so
// that the same workload shows what each stage costs.
#ifndef KAMINO_BENCH_ENGINE_STAGED_STORE_H_
#define KAMINO_BENCH_ENGINE_STAGED_STORE_H_

#include <array>
#include <memory>
#include <vector>

#include "bench/engine/stores.h"
#include "engine/transactional_store.h"

namespace kamino::bench {

// Each does what those before it do as well; the last is the whole.
enum class Stage {
  kLookUp,   // the workload itself, index included; objects straight from heap
  kLocks,    // begin, read with locks, end; what is written goes nowhere
  kRecords,  // intents, checksums, records; a writable pointer's own stores
  kFences,   // the drains, of a single line each
  kFlushes,  // stores past the cache, or flushes, to the heap and its log
  kCopies,   // the same to the undo copy
};
inline constexpr std::array<Stage, 6> kStages = {
    Stage::kLookUp, Stage::kLocks,   Stage::kRecords,
    Stage::kFences, Stage::kFlushes, Stage::kCopies};

// For a table's head.
const char* StageName(Stage stage);

// For workloads on one thread whose transactions commit. Up to kLocks they must
// not allocate or free, and up to kFences they may only overwrite (their stores
// may be lost, except stores through pointers).
class StagedStore final : public engine::TransactionalStore {
 public:
  // The whole at first. `below` was opened with Watch::kStages and must outlive
  // this.
  explicit StagedStore(OpenedStore* below);

  // While no transaction is live.
  void SetStage(Stage stage);

  absl::string_view scheme() const override { return below_.store->scheme(); }
  std::unique_ptr<engine::Transaction> Begin(absl::Duration wait) override;
  engine::ObjectId root() const override { return below_.store->root(); }
  void Quiesce() override { below_.store->Quiesce(); }
  uint64_t bytes_used() const override { return below_.store->bytes_used(); }

 private:
  OpenedStore& below_;
  Stage stage_ = kStages.back();
  std::vector<std::byte> sink_;  // what goes nowhere goes here
};

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_STAGED_STORE_H_
