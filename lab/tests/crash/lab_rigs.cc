// The laboratory's schemes and branches.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "engine/heap/heap.h"
#include "lab/archapt/archapt_options.h"
#include "lab/archapt/archapt_store.h"
#include "lab/explore.h"
#include "lab/rewind/rewind_options.h"
#include "lab/rewind/rewind_store.h"
#include "lab/tests/crash/archapt_image.h"
#include "lab/wrap/wrap_store.h"
#include "tests/engine/crash/coverage.h"
#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {
namespace {

// Full now and then. Two layers' words take some of theirs.
constexpr size_t kRewindHeapBytes = 224u << 10;
constexpr size_t RewindLogBytes(const RewindOptions& options) {
  return options.layers == 1 ? 24u << 10 : 36u << 10;
}
// Every other sequence changes both words of the log's largest sequence, and
// the lower one becomes smaller.
constexpr uint64_t kRewindSequenceStep = (uint64_t{1} << 47) + 1;
// So small that wraps continue in the heap, and wait for others to retire.
constexpr size_t kWrapHeapBytes = 224u << 10;
constexpr size_t kWrapLogBytes = 8u << 10;
constexpr uint64_t kWrapBucketBytes = wrap_format::kMinBucketBytes;

// A dozen objects of a few lines each, which leave the queue soon and have
// others to make a matrix with.
constexpr size_t kArchaptHeapBytes = 224u << 10;
constexpr size_t kArchaptLogBytes = 48u << 10;
constexpr size_t kArchaptLittleLogBytes = 24u << 10;  // full now and then
constexpr uint64_t kArchaptQueueBytes = 4u << 10;
constexpr size_t kArchaptColumns = 4;

class RewindRig final : public Rig {
 public:
  RewindRig(std::unique_ptr<Heap> heap, std::unique_ptr<RewindStore> store)
      : heap_(std::move(heap)), store_(std::move(store)) {}

  TransactionalStore& store() override { return *store_; }
  void Sync(size_t) override { store_->Checkpoint(); }
  std::optional<uint64_t> last_sequence() const override {
    return store_->recovery_report().last_sequence;
  }
  uint64_t live_objects() const override {
    return heap_->stats().objects - store_->log_blocks();
  }

 private:
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<RewindStore> store_;
};

class WrapRig final : public Rig {
 public:
  explicit WrapRig(std::unique_ptr<WrapStore> store)
      : store_(std::move(store)) {}

  TransactionalStore& store() override { return *store_; }
  // Not all at once, so that several wait that share an object.
  void Sync(size_t transactions) override { store_->Retire(transactions); }
  const Region* view() const override { return store_->heap()->region(); }
  std::optional<uint64_t> last_sequence() const override {
    return store_->recovery_report().last_sequence;
  }
  uint64_t live_objects() const override {
    return store_->heap()->stats().objects;
  }

 private:
  std::unique_ptr<WrapStore> store_;
};

class ArchaptRig final : public Rig {
 public:
  ArchaptRig(std::unique_ptr<Heap> heap, std::unique_ptr<ArchaptStore> store)
      : heap_(std::move(heap)), store_(std::move(store)) {}

  TransactionalStore& store() override { return *store_; }
  void Sync(size_t transactions) override {
    if (transactions > 1) {
      store_->Advance();
    } else {
      // A caller waits for the next one.
      const uint64_t next =
          std::max(store_->durable_sequence(), store_->given_before()) + 1;
      store_->AwaitDurable(next, absl::Nanoseconds(1));
    }
  }
  std::optional<uint64_t> last_sequence() const override {
    return store_->recovery_report().last_sequence;
  }
  bool cancels() const override { return true; }
  uint64_t live_objects() const override {
    return heap_->stats().objects - store_->kept_blocks();
  }

 private:
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<ArchaptStore> store_;
};

Scheme Rewind(RewindOptions options) {
  // Many buckets, and groups that a bucket's end cuts.
  options.bucket = 11;
  options.group = 3;
  // A seed's run must not depend on the clock.
  options.log_wait = absl::ZeroDuration();
  Scheme scheme;
  scheme.name = options.Name();
  scheme.areas = {{"heap", kRewindHeapBytes}};
  scheme.switches_within_calls = true;
  scheme.sequence_step = kRewindSequenceStep;
  scheme.nothing_to_sync = !options.keeps_finished();
  scheme.open = [=](const std::vector<Region*>& regions,
                    bool make) -> absl::StatusOr<std::unique_ptr<Rig>> {
    auto heap = make ? Heap::CreateWithLog(regions[0], options.Name(),
                                           RewindLogBytes(options))
                     : Heap::Open(regions[0]);
    if (!heap.ok()) return heap.status();
    auto store = RewindStore::Open(options, heap->get());
    if (!store.ok()) return store.status();
    return absl::make_unique<RewindRig>(std::move(*heap), std::move(*store));
  };
  return scheme;
}

// With force and records of committed transactions still in the log.
Scheme RewindThatKeeps() {
  RewindOptions options;
  options.force = true;
  options.form = LogForm::kOptimized;
  options.clears_at_commit = false;
  options.scans = true;
  Scheme scheme = Rewind(options);
  scheme.name += "-keeps";
  return scheme;
}

Scheme Wraps() {
  Scheme scheme;
  scheme.name = wrap_format::kLabel;
  scheme.areas = {{"heap", kWrapHeapBytes}};
  scheme.switches_within_calls = true;
  scheme.open = [](const std::vector<Region*>& regions,
                   bool make) -> absl::StatusOr<std::unique_ptr<Rig>> {
    WrapOptions options;
    options.log_bytes = kWrapLogBytes;
    options.bucket_bytes = kWrapBucketBytes;
    // A seed's run must not depend on the clock.
    options.log_wait = absl::ZeroDuration();
    auto store = make ? WrapStore::Create(regions[0], options)
                      : WrapStore::Open(regions[0], options);
    if (!store.ok()) return store.status();
    return absl::make_unique<WrapRig>(std::move(*store));
  };
  return scheme;
}

// With as many matrices as possible; or, as in programs, only with those that
// are worth it, and then with a small log.
Scheme Archapt(bool gainful_only) {
  ArchaptOptions options;
  options.queue_bytes = kArchaptQueueBytes;
  options.columns = kArchaptColumns;
  // A seed's run must not depend on the clock.
  options.log_wait = absl::InfiniteDuration();
  options.gainful_only = gainful_only;
  Scheme scheme;
  scheme.name = kArchaptName;
  if (gainful_only) scheme.name += "-gainful";
  const size_t log_bytes =
      gainful_only ? kArchaptLittleLogBytes : kArchaptLogBytes;
  scheme.areas = {{"heap", kArchaptHeapBytes}};
  scheme.switches_within_calls = true;
  scheme.lags = true;
  scheme.coded = MatricesOf;
  scheme.open = [=](const std::vector<Region*>& regions,
                    bool make) -> absl::StatusOr<std::unique_ptr<Rig>> {
    auto heap = make ? Heap::CreateWithLog(regions[0], kArchaptName, log_bytes)
                     : Heap::Open(regions[0]);
    if (!heap.ok()) return heap.status();
    auto store = ArchaptStore::Open(options, heap->get());
    if (!store.ok()) return store.status();
    return absl::make_unique<ArchaptRig>(std::move(*heap), std::move(*store));
  };
  return scheme;
}

std::vector<Scheme> MakeSchemes() {
  std::vector<Scheme> schemes = {RewindThatKeeps(), Wraps()};
  for (const RewindOptions& options : AllRewinds()) {
    schemes.push_back(Rewind(options));
  }
  schemes.push_back(Archapt(/*gainful_only=*/false));
  schemes.push_back(Archapt(/*gainful_only=*/true));
  return schemes;
}

const LinkedRigs kLinked(MakeSchemes());

const LinkedBranches kBranches(new BranchesOf<LabBranch>(
    {
#define KAMINO_BRANCH(name) #name,
        KAMINO_LAB_BRANCHES(KAMINO_BRANCH)
#undef KAMINO_BRANCH
    },
    LabBranch::kWrapReplayed));

}  // namespace
}  // namespace kamino::engine::crash
