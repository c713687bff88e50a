// Log entries that a replica rolls back locally, with each kind of undo copy:
// the power fails at any flush or drain while it executes them, and again while
// it rolls back. The heap must have the state of the applied ones.
#include "replica/state/local_undo.h"

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "engine/kamino/kamino_store.h"
#include "engine/kamino/replica_transaction.h"
#include "engine/kamino/undo_log.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "replica/log/log_entry.h"
#include "replica/log/log_ring.h"
#include "tests/faults/fault.h"
#include "tests/faults/trial.h"

namespace kamino::replica {
namespace {

using engine::Heap;
using engine::IntentKind;
using engine::ObjectId;
using engine::SimRegion;
using engine::UndoCopy;
using engine::WriteSet;

constexpr size_t kHeapBytes = 256u << 10;
constexpr size_t kLogBytes = 4096;
constexpr size_t kRingBytes = LogRing::kMinTinyBytes;
constexpr int kEntries = 24;
// So large that cleaning is made durable every few entries.
constexpr size_t kArgumentBytes = 2048;

using Contents = std::map<ObjectId, std::string>;

// The steps of one entry, in order, and the state it leaves.
struct Change {
  struct Step {
    IntentKind kind = IntentKind::kAlloc;
    ObjectId object = 0;
    uint32_t offset = 0;
    std::string bytes;  // of kAlloc: its initial content
  };
  std::vector<Step> steps;
  WriteSet write_set;
  Contents after;
};

Contents ContentsOf(const Heap& heap, const Contents& known) {
  Contents contents;
  for (const auto& [id, bytes] : known) {
    const auto payload = heap.Payload(id);
    if (!payload.ok()) continue;
    contents[id].assign(reinterpret_cast<const char*>(payload->data()),
                        payload->size());
  }
  return contents;
}

// Makes changes like a pipelining head: the next one reuses freed space.
class Head {
 public:
  explicit Head(uint64_t seed) : random_(seed) {
    heap_ = *Heap::CreateWithLog(&heap_region_, "test", 16384);
    auto undo_copy =
        *engine::CreateSimpleUndoCopy(heap_.get(), &undo_copy_region_);
    store_ = *engine::KaminoStore::Open(heap_.get(), std::move(undo_copy));
  }

  Change Next() {
    uint64_t steps = 1 + Random(4);
    return Make([&](const Contents& objects) -> std::optional<Change::Step> {
      if (steps-- == 0) return std::nullopt;
      return NextStep(objects);
    });
  }

  // Makes a change of the steps that `next` returns until it returns none.
  Change Make(
      absl::FunctionRef<std::optional<Change::Step>(const Contents& objects)>
          next) {
    Change change;
    auto transaction = store_->Begin(absl::ZeroDuration());
    Contents objects = contents_;
    while (auto step = next(objects)) {
      change.steps.push_back(*std::move(step));
      Do(&change.steps.back(), transaction.get(), &objects);
    }
    engine::CommitOptions options;
    options.sequence = ++sequence_;
    const auto keep = [&change](const WriteSet& write_set) {
      change.write_set = write_set;
      return absl::OkStatus();
    };
    options.before_mark.emplace(keep);
    EXPECT_TRUE(transaction->Commit(options).ok());
    while (store_->PropagateToUndoCopy(100) > 0) {
    }
    contents_ = ContentsOf(*heap_, objects);
    change.after = contents_;
    return change;
  }

 private:
  uint64_t Random(uint64_t bound) { return random_() % bound; }

  ObjectId AnyOf(const Contents& objects) {
    auto chosen = objects.begin();
    std::advance(chosen, Random(objects.size()));
    return chosen->first;
  }

  Change::Step NextStep(const Contents& objects) {
    Change::Step step;
    const uint64_t drawn = objects.size() < 4 ? 0 : Random(10);
    // Few sizes, so that freed space soon fits another object.
    constexpr size_t kSizes[] = {100, 100, 300, 9000};
    step.bytes.assign(kSizes[Random(4)] - Random(30),
                      static_cast<char>('a' + Random(26)));
    if (drawn < 3) return step;
    step.object = AnyOf(objects);
    step.kind = drawn < 5 ? IntentKind::kFree : IntentKind::kWrite;
    if (step.kind == IntentKind::kFree) return step;
    const std::string& old = objects.at(step.object);
    step.bytes.resize(std::min(step.bytes.size(), old.size()));
    step.offset = Random(old.size() - step.bytes.size() + 1);
    return step;
  }

  void Do(Change::Step* step, engine::Transaction* transaction,
          Contents* objects);

  std::mt19937_64 random_;
  SimRegion heap_region_{kHeapBytes};
  SimRegion undo_copy_region_{engine::SimpleUndoCopyBytes(kHeapBytes)};
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<engine::KaminoStore> store_;
  uint64_t sequence_ = 0;
  Contents contents_;
};

absl::Span<const std::byte> Bytes(const std::string& text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()),
                             text.size());
}

// Writes the id of a newly made object to `step`.
absl::Status Carry(Change::Step* step, engine::Transaction* transaction) {
  if (step->kind == IntentKind::kFree) return transaction->Free(step->object);
  if (step->kind == IntentKind::kAlloc) {
    auto id = transaction->Alloc(static_cast<uint32_t>(step->bytes.size()));
    if (!id.ok()) return id.status();
    step->object = *id;
  }
  return transaction->Overwrite(step->object, step->offset, Bytes(step->bytes));
}

void Head::Do(Change::Step* step, engine::Transaction* transaction,
              Contents* objects) {
  ASSERT_TRUE(Carry(step, transaction).ok());
  if (step->kind == IntentKind::kFree) {
    objects->erase(step->object);
  } else if (step->kind == IntentKind::kAlloc) {
    // At least as long as its capacity.
    (*objects)[step->object] = step->bytes;
  }
}

enum class Kind { kLog, kSimple, kDynamic };

size_t UndoCopyBytes(Kind kind) {
  return kind == Kind::kLog ? engine::LogUndoCopyBytes(kRingBytes / 2)
         : kind == Kind::kSimple
             ? engine::SimpleUndoCopyBytes(kHeapBytes)
             : engine::DynamicUndoCopyBytes(kHeapBytes, 0.3);
}

std::unique_ptr<UndoCopy> OpenUndoCopy(Kind kind, bool make, Heap* heap,
                                       SimRegion* region) {
  switch (kind) {
    case Kind::kLog:
      return *(make ? engine::CreateLogUndoCopy : engine::OpenLogUndoCopy)(
          heap, region);
    case Kind::kSimple:
      return *(make ? engine::CreateSimpleUndoCopy
                    : engine::OpenSimpleUndoCopy)(heap, region);
    case Kind::kDynamic:
      return *(make ? engine::CreateDynamicUndoCopy
                    : engine::OpenDynamicUndoCopy)(heap, region);
  }
  return nullptr;
}

// A node's regions, and the store on them.
class Replica {
 public:
  using Images = std::vector<SimRegion::Image>;

  explicit Replica(Kind kind) : Replica(kind, UndoCopyBytes(kind)) {}
  Replica(Kind kind, size_t undo_copy_bytes, size_t ring_bytes = kRingBytes)
      : kind_(kind) {
    for (const size_t bytes : {kHeapBytes, ring_bytes, undo_copy_bytes}) {
      regions_.push_back(std::make_unique<SimRegion>(bytes));
    }
    heap_ = *Heap::CreateWithLog(regions_[0].get(), "test", 16384);
    ring_ = *LogRing::Create(regions_[1].get(), heap_->uuid(), ring_bytes,
                             ChainMode::kTraditional);
    Begin();
  }

  // Starts from the images of a crash; Recover comes first.
  Replica(Kind kind, const Images& images) : kind_(kind) {
    for (const auto& image : images) {
      regions_.push_back(std::make_unique<SimRegion>(image));
    }
    heap_ = *Heap::Open(regions_[0].get());
    ring_ = *LogRing::Open(regions_[1].get(), heap_->uuid());
  }

  absl::Status Recover() {
    undo_copy_ = OpenUndoCopy(kind_, false, heap_.get(), regions_[2].get());
    absl::Status done =
        RollBackInterrupted(heap_.get(), *ring_, undo_copy_.get());
    recovered_ = true;
    return done;
  }
  // Continues with an empty undo copy.
  void Begin() {
    undo_.reset();
    undo_copy_ = OpenUndoCopy(kind_, true, heap_.get(), regions_[2].get());
    undo_ = MakeLocalUndo(heap_.get(), ring_.get(), undo_copy_.get());
  }

  absl::Status Append(const Change& change) {
    Mutation mutation;
    mutation.arguments = std::string(kArgumentBytes, 'x');
    const std::vector<const Mutation*> mutations = {&mutation};
    LogEntryDraft draft;
    draft.first = ring_->received() + 1;
    draft.chain_id = 1;
    draft.mutations = mutations;
    draft.write_set = &change.write_set;
    return ring_->Append(draft);
  }

  // `steps`: how many steps of the change are executed before the divergence.
  absl::Status Execute(const Change& change, size_t steps = SIZE_MAX) {
    const LogEntry entry = ring_->EntryOf(ring_->applied() + 1);
    absl::Status done = undo_->Prepare(entry, change.write_set);
    if (!done.ok()) return done;
    engine::ReplicaTransaction transaction(heap_.get(), change.write_set);
    for (Change::Step step : change.steps) {
      if (steps-- == 0) return absl::CancelledError("half executed");
      done = Carry(&step, &transaction);
      if (!done.ok()) return done;
    }
    done = static_cast<engine::Transaction&>(transaction).Commit();
    if (done.ok()) ring_->MarkApplied(entry.last());
    return done;
  }

  // Takes images at the `count`-th flush or drain of any region from now on.
  void CrashAt(int count, uint64_t seed) {
    countdown_ = count;
    for (auto& region : regions_) {
      const auto hook = [this, seed] {
        if (countdown_ == 0 || --countdown_ > 0) return;
        images_.emplace();
        for (size_t i = 0; i < regions_.size(); ++i) {
          images_->push_back(regions_[i]->CrashImage(seed + i));
        }
      };
      region->SetDrainHook(hook);
      region->SetFlushHook(hook);
    }
  }
  const std::optional<Images>& images() const { return images_; }

  // In all regions.
  uint64_t drains() const {
    uint64_t drains = 0;
    for (const auto& region : regions_) drains += region->drains();
    return drains;
  }

  Heap& heap() { return *heap_; }
  LogRing& ring() { return *ring_; }
  LocalUndo& undo() { return *undo_; }

 private:
  const Kind kind_;
  std::vector<std::unique_ptr<SimRegion>> regions_;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<LogRing> ring_;
  std::unique_ptr<UndoCopy> undo_copy_;
  std::unique_ptr<LocalUndo> undo_;
  bool recovered_ = false;
  int countdown_ = 0;
  std::optional<Images> images_;
};

// A replica's execution; the random choices are the same in every run of a
// seed.
class Run {
 public:
  Run(Kind kind, uint64_t seed) : kind_(kind), seed_(seed) {
    Head head(seed);
    for (int i = 0; i < kEntries; ++i) changes_.push_back(head.Next());
  }

  // Not OK: the violation. `*over`: there are fewer moments.
  absl::Status CrashAt(int count, bool* over) {
    Replica replica(kind_);
    replica.CrashAt(count, seed_ + count);
    absl::Status done = GoOn(&replica);
    if (!done.ok()) return done;
    *over = !replica.images().has_value();
    if (*over) return Check(replica);
    return Recover(*replica.images(), /*again=*/1 + count % 7);
  }

  int torn() const { return torn_; }        // images with entries to roll back
  int several() const { return several_; }  // with more than one

 private:
  const Change& ChangeAt(uint64_t number) const { return changes_[number - 1]; }

  absl::Status GoOn(Replica* replica) {
    std::mt19937_64 random(seed_);
    LogRing& ring = replica->ring();
    while (ring.applied() < kEntries) {
      while (ring.received() < kEntries &&
             (ring.received() == ring.applied() || random() % 3 == 0)) {
        absl::Status done = replica->Append(ChangeAt(ring.received() + 1));
        if (!done.ok()) return done;
      }
      absl::Status done = Try(replica, &random);
      if (!done.ok()) return done;
      if (random() % 3 == 0) ring.PersistApplied();
      if (random() % 3 == 0) replica->undo().Propagate(1 + random() % 2);
      if (random() % 4 == 0) {
        ring.PersistApplied();
        ring.Clean(ring.applied() -
                   random() % 2 * (ring.applied() > ring.cleaned()));
      }
    }
    ring.PersistApplied();
    while (replica->undo().Propagate(1)) {
    }
    return absl::OkStatus();
  }

  // Executes an entry, or diverges within it and rolls it back.
  absl::Status Try(Replica* replica, std::mt19937_64* random) {
    LogRing& ring = replica->ring();
    const Change& change = ChangeAt(ring.applied() + 1);
    if ((*random)() % 6 == 0) {
      absl::Status half =
          replica->Execute(change, (*random)() % change.steps.size());
      if (!absl::IsCancelled(half)) return half;
      absl::Status done = replica->undo().RollBack();
      if (!done.ok()) return done;
      done = Check(*replica);
      if (!done.ok()) return done;
    }
    return replica->Execute(change);
  }

  absl::Status Recover(const Replica::Images& images, int again) {
    Replica replica(kind_, images);
    replica.CrashAt(again, seed_);
    const uint64_t left = replica.ring().received() - replica.ring().applied();
    torn_ += left > 0;
    several_ += left > 1;
    absl::Status done = replica.Recover();
    if (done.ok()) done = Check(replica);
    if (!done.ok()) return done;
    if (replica.images().has_value() && again > 0) {
      done = Recover(*replica.images(), 0);
      if (!done.ok()) return done;
    }
    replica.Begin();
    done = GoOn(&replica);
    return done.ok() ? Check(replica) : done;
  }

  // The replica holds the state of the applied changes, and nothing else.
  absl::Status Check(Replica& replica) {
    const uint64_t applied = replica.ring().applied();
    const Contents none;
    const Contents& expected = applied == 0 ? none : ChangeAt(applied).after;
    const uint64_t objects = replica.heap().stats().objects;
    if (objects != expected.size() + 1) {  // the root
      return absl::DataLossError(absl::StrCat("after ", applied, ", ",
                                              objects - 1, " objects and not ",
                                              expected.size()));
    }
    const Contents there = ContentsOf(replica.heap(), expected);
    for (const auto& [id, bytes] : expected) {
      if (there.count(id) > 0 && there.at(id) == bytes) continue;
      return absl::DataLossError(
          absl::StrCat("after ", applied, ", object ", id, " of ", bytes.size(),
                       there.count(id) == 0 ? " bytes is not there"
                                            : " bytes is not what it was"));
    }
    return absl::OkStatus();
  }

  const Kind kind_;
  const uint64_t seed_;
  std::vector<Change> changes_;
  int torn_ = 0;
  int several_ = 0;
};

// The first violation in `seeds` runs that crash at each `step`-th moment.
absl::Status CrashEverywhere(Kind kind, uint64_t seeds, int step, int* torn,
                             int* several) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    Run run(kind, seed);
    bool over = false;
    for (int count = 1; !over; count += step) {
      absl::Status done = run.CrashAt(count, &over);
      if (done.ok()) continue;
      return absl::Status(done.code(),
                          absl::StrCat("seed ", seed, ", moment ", count, ": ",
                                       done.message()));
    }
    *torn += run.torn();
    *several += run.several();
  }
  return absl::OkStatus();
}

class LocalUndoTest : public ::testing::TestWithParam<Kind> {};

TEST_P(LocalUndoTest, RollsBackUnappliedEntries) {
  int torn = 0;
  int several = 0;
  EXPECT_EQ(CrashEverywhere(GetParam(), 12, 3, &torn, &several),
            absl::OkStatus());
  EXPECT_GT(torn, 500);
  EXPECT_GT(several, 200);
}

INSTANTIATE_TEST_SUITE_P(Kinds, LocalUndoTest,
                         ::testing::Values(Kind::kLog, Kind::kSimple,
                                           Kind::kDynamic));

// The tail cleans each entry as it completes it; the undo copies are brought up
// to date later, when the tail is idle.
TEST(CopiedUndoTest, CleaningAnEntryDoesNotWaitForTheCopies) {
  for (const Kind kind : {Kind::kSimple, Kind::kDynamic}) {
    Replica replica(kind);
    Head head(1);
    const Change change = head.Next();
    ASSERT_TRUE(replica.Append(change).ok());
    ASSERT_TRUE(replica.Execute(change).ok());
    replica.ring().PersistApplied();
    const uint64_t drains = replica.drains();
    replica.ring().Clean(replica.ring().applied());
    EXPECT_EQ(replica.drains(), drains);
    EXPECT_EQ(replica.ring().cleaned(), 1u);
    replica.undo().Propagate(1);
    EXPECT_GT(replica.drains(), drains);
  }
}

// Undo copies that are far behind are brought up to date in part: the core
// thread does nothing else meanwhile.
bool IsWorkedOffInPart() {
  constexpr int kMany = 140;
  // The ring has room for all: a full ring brings the copies up to date.
  Replica replica(Kind::kSimple, UndoCopyBytes(Kind::kSimple), 1 << 20);
  Head head(1);
  for (int i = 0; i < kMany; ++i) {
    bool done = false;
    const Change change =
        head.Make([&](const Contents&) -> std::optional<Change::Step> {
          if (std::exchange(done, true)) return std::nullopt;
          return Change::Step{IntentKind::kAlloc, 0, 0, "some"};
        });
    EXPECT_EQ(replica.Append(change), absl::OkStatus());
    EXPECT_EQ(replica.Execute(change), absl::OkStatus());
    replica.ring().PersistApplied();
  }
  int left = 1;
  while (replica.undo().Propagate(1)) ++left;
  return left > 64 && left <= 128;
}

TEST(CopiedUndoTest, ALongBacklogIsPropagatedInParts) {
  EXPECT_TRUE(IsWorkedOffInPart());
  faults::PlantFault("undo-copies-all-at-once");
  EXPECT_FALSE(IsWorkedOffInPart());
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

// A head's copies fit side by side, but a replica's other copies lie elsewhere:
// here two of 34 KiB around one of 44, and one of 43 must be made, in 120.
bool MakesRoom() {
  Replica replica(Kind::kDynamic,
                  engine::DynamicUndoCopyBytes(120 << 10, /*alpha=*/1));
  Head head(1);
  const auto execute = [&](std::vector<Change::Step> steps) {
    size_t done = 0;
    const Change change =
        head.Make([&](const Contents&) -> std::optional<Change::Step> {
          if (done == steps.size()) return std::nullopt;
          return steps[done++];
        });
    EXPECT_EQ(replica.Append(change), absl::OkStatus());
    const absl::Status executed = replica.Execute(change);
    return executed.ok() ? change.steps.back().object : 0;
  };
  std::vector<Change::Step> writes;
  for (const size_t kib : {34, 44, 34, 43}) {
    const ObjectId object =
        execute({{IntentKind::kAlloc, 0, 0, std::string(kib << 10, 'a')}});
    EXPECT_NE(object, 0u);
    writes.push_back({IntentKind::kWrite, object, 0, "b"});
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_NE(execute({writes[i]}), 0u);
  return execute({writes[1], writes[3]}) != 0;
}

TEST(CopiedUndoTest, MakesRoomAmongItsOwnCopies) {
  EXPECT_TRUE(MakesRoom());
  faults::PlantFault("undo-copies-stay-where-they-are");
  EXPECT_FALSE(MakesRoom());
  faults::PlantFault("");
}

// A head accepts requests that fit each node's undo log.
TEST(CheckUndoLogsHoldTest, CountsOverwrittenBytes) {
  constexpr uint64_t kRing = 128 << 10;
  constexpr uint32_t kEach = 1024;
  SimRegion heap_region(1 << 20);
  const auto heap = *Heap::CreateWithLog(&heap_region, "test", 16384);
  SimRegion region(engine::LogUndoCopyBytes(UndoLogBytes(kRing)));
  const auto log = *engine::UndoLog::Create(heap.get(), &region);
  const ObjectId object = *heap->Reserve(kEach);
  WriteSet write_set = {{object, 0, 1 << 30, IntentKind::kFree}};
  while (CheckUndoLogsHold(write_set, kRing).ok()) {
    log->Reuse();
    EXPECT_EQ(log->Save(1, write_set), absl::OkStatus());
    write_set.push_back({object, 0, kEach, IntentKind::kWrite});
  }
  EXPECT_TRUE(absl::IsInvalidArgument(CheckUndoLogsHold(write_set, kRing)));
  EXPECT_GT(write_set.size(), 60u);
}

struct Fault {
  const char* name;
  Kind kind;
};

class PlantedTest : public ::testing::TestWithParam<Fault> {};

TEST_P(PlantedTest, IsCaught) {
  const faults::Verdict verdict = faults::RunTrial([] {
    faults::PlantFault(GetParam().name);
    int torn = 0;
    int several = 0;
    const absl::Status done =
        CrashEverywhere(GetParam().kind, 40, 1, &torn, &several);
    return faults::Verdict{!done.ok() && faults::PlantedFaultWasMet(),
                           done.ToString()};
  });
  EXPECT_TRUE(verdict.caught) << GetParam().name << ": " << verdict.how;
}

INSTANTIATE_TEST_SUITE_P(
    Faults, PlantedTest,
    ::testing::Values(
        Fault{"undo-is-not-drained", Kind::kLog},
        Fault{"undo-forgets-what-is-not-durable", Kind::kLog},
        Fault{"undo-forgets-what-was-freed", Kind::kLog},
        Fault{"undo-log-rolls-back-the-newest", Kind::kLog},
        Fault{"undo-log-rolls-back-committed-changes", Kind::kLog},
        Fault{"undo-copies-are-behind", Kind::kSimple},
        Fault{"undo-copies-behind-the-ring", Kind::kSimple},
        Fault{"undo-copies-are-never-stale", Kind::kSimple},
        Fault{"undo-copies-of-what-is-not-durable", Kind::kSimple},
        Fault{"undo-copies-marked-with-the-changes", Kind::kDynamic}));

}  // namespace
}  // namespace kamino::replica
