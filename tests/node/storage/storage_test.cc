#include "node/storage/storage.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/kamino/kamino_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/node/storage/sim_media.h"
#include "tests/node/storage/tiny_storage.h"
#include "tests/replica/text_entry.h"

namespace kamino::node {
namespace {

using engine::CommitOptions;
using engine::KaminoStore;
using engine::ObjectId;
using engine::WriteSet;
using membership::Condition;
using replica::NodeState;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Part = Media::Part;

class StorageTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Storage>> TryOpen(
      const StorageOptions& options = Tiny()) {
    return Storage::Open(options, std::make_unique<SimMedia>(&disk_));
  }
  std::unique_ptr<Storage> Open(const StorageOptions& options = Tiny()) {
    auto storage = TryOpen(options);
    EXPECT_TRUE(storage.ok()) << storage.status();
    return std::move(*storage);
  }

  // A head commits an operation of that many mutations, and the power goes
  // then. `at_append`: when it has an entry in the ring and no commit record
  // yet.
  static constexpr uint64_t kMutations = 3;
  void CommitOneAndCrash(uint64_t seed, bool at_append = false) {
    disk_ = SimDisk();
    auto storage = Open();
    auto store = *KaminoStore::Open(storage->heap(), *storage->NewUndoCopy());
    NodeState state = storage->record()->state();
    state.was_head = true;
    state.condition = Condition::kSound;
    storage->record()->Update(state);
    auto transaction = store->Begin(absl::ZeroDuration());
    const ObjectId root = storage->heap()->root();
    std::memcpy(*transaction->Write(root, 0, 8), "12345678", 8);
    CommitOptions options;
    options.sequence = kMutations;
    const auto append = [&](const WriteSet&) {
      absl::Status appended =
          replica::AppendText(storage->ring(), "entry", kMutations);
      if (at_append) disk_.Crash(seed);
      return appended;
    };
    options.before_mark.emplace(append);
    ASSERT_TRUE(transaction->Commit(options).ok());
    if (!at_append) disk_.Crash(seed);
  }

  SimDisk disk_;
};

TEST_F(StorageTest, EachStartIsAnotherIncarnation) {
  EXPECT_EQ(Open()->record()->state().incarnation, 1000u);
  disk_.Crash(1);
  EXPECT_EQ(Open()->record()->state().incarnation, 1001u);
  disk_.Crash(2);
  EXPECT_EQ(Open()->record()->state().incarnation, 1002u);
}

TEST_F(StorageTest, RefusesFilesOfAnotherNode) {
  Open();
  StorageOptions other = Tiny();
  other.node_id = "n2";
  EXPECT_THAT(std::string(TryOpen(other).status().message()),
              HasSubstr("heap belongs to c/1/n1, not to c/1/n2"));
  SimMedia(&disk_).Remove(Part::kRing).IgnoreError();
  EXPECT_THAT(std::string(TryOpen().status().message()),
              HasSubstr("ring is missing"));
}

TEST_F(StorageTest, AHeapThatWasInAChainKeepsItsSize) {
  StorageOptions other = Tiny();
  other.heap_bytes *= 2;
  other.first_incarnation = 2000;
  const engine::HeapUuid first_heap = Open()->heap()->uuid();
  {
    auto storage = Open(other);  // one that was not is made anew
    EXPECT_EQ(storage->heap_region()->size(), other.heap_bytes);
    EXPECT_NE(storage->heap()->uuid(), first_heap);
    NodeState state = storage->record()->state();
    EXPECT_EQ(state.incarnation, 2000u);
    state.condition = Condition::kSound;
    storage->record()->Update(state);
  }
  EXPECT_THAT(std::string(TryOpen().status().message()),
              HasSubstr("a heap with data cannot change its size"));
  disk_.Crash(1);
  EXPECT_EQ(Open(other)->heap_region()->size(), other.heap_bytes);
}

// A head that dies between the ring entry and the commit record never sent the
// operation: the entry goes. One that dies after the mark did.
TEST_F(StorageTest, AHeadsRingEndsWithItsCommittedEntries) {
  for (const bool marked : {false, true}) {
    SCOPED_TRACE(marked);
    for (uint64_t seed = 0; seed < 20; ++seed) {
      CommitOneAndCrash(seed, /*at_append=*/!marked);
      auto after = Open();
      EXPECT_EQ(after->ring()->received(), marked ? kMutations : 0u);
      EXPECT_EQ(after->ring()->applied(), marked ? kMutations : 0u);
      const auto bytes = *after->heap()->Payload(after->heap()->root());
      EXPECT_EQ(std::memcmp(bytes.data(), "12345678", 8) == 0, marked);
      EXPECT_FALSE(after->record()->state().was_head);
    }
  }
}

// Up to three times in its recovery, then no more. Returns what a start said
// that nothing disturbed, and how often the node has died.
struct Deaths {
  absl::Status opened;
  int count = 0;
};

class DyingHeadTest : public StorageTest {
 protected:
  Deaths DieAtDrain(int moment, uint64_t seed) {
    CommitOneAndCrash(seed);
    Deaths deaths;
    for (uint64_t again = 0; again < 3; ++again) {
      int drains = 0;
      disk_.SetDrainHook([&] {
        if (++drains == moment) disk_.Crash(3 * seed + again);
      });
      deaths.opened = TryOpen().status();
      disk_.SetDrainHook(nullptr);
      if (drains < moment) return deaths;
      ++deaths.count;
    }
    deaths.opened = TryOpen().status();
    return deaths;
  }
};

// The second time the log may be empty already, which knew of the commit.
TEST_F(DyingHeadTest, StartsWheneverItHasDied) {
  int crashes = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (int moment = 1; moment < 100; ++moment) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", drain ", moment));
      const Deaths deaths = DieAtDrain(moment, seed);
      ASSERT_TRUE(deaths.opened.ok()) << deaths.opened;
      auto after = Open();
      EXPECT_EQ(after->ring()->applied(), kMutations);
      EXPECT_EQ(after->ring()->received(), kMutations);
      const auto bytes = *after->heap()->Payload(after->heap()->root());
      EXPECT_EQ(std::memcmp(bytes.data(), "12345678", 8), 0);
      crashes += deaths.count;
      if (deaths.count == 0) break;
    }
  }
  EXPECT_GT(crashes, 300);
}

TEST_F(DyingHeadTest, IsRefusedWhenMarksDriftApart) {
  faults::Planted fault("storage-leaves-marks-apart");
  bool refused = false;
  for (uint64_t seed = 0; seed < 20 && !refused; ++seed) {
    for (int moment = 1; moment < 20 && !refused; ++moment) {
      refused = absl::IsFailedPrecondition(DieAtDrain(moment, seed).opened);
    }
  }
  EXPECT_TRUE(refused);
}

// The ring has the size that it is opened with, whatever it had, and all that
// was in it; also when the power goes meanwhile.
TEST_F(StorageTest, ARingMayChangeItsSize) {
  StorageOptions larger = Tiny();
  larger.ring_bytes *= 2;
  int crashes = 0;
  for (int moment = 1; moment < 1000; ++moment) {
    SCOPED_TRACE(moment);
    disk_ = SimDisk();
    {
      auto storage = Open();
      for (uint64_t first = 1; first < 11; first += 2) {
        ASSERT_TRUE(replica::AppendText(storage->ring(),
                                        absl::StrCat("from", first),
                                        /*count=*/2)
                        .ok());
      }
      storage->ring()->MarkApplied(8);
      storage->ring()->PersistApplied();
      storage->ring()->Clean(4);
    }
    disk_.Kill();
    int drains = 0;
    disk_.SetDrainHook([&] {
      if (++drains == moment) disk_.Crash(moment);
    });
    TryOpen(larger).IgnoreError();
    disk_.SetDrainHook(nullptr);
    crashes += drains >= moment;
    for (const StorageOptions& options : {larger, Tiny()}) {
      auto storage = Open(options);
      EXPECT_EQ(storage->ring_bytes(), options.ring_bytes);
      EXPECT_EQ(storage->ring()->received(), 10u);
      EXPECT_EQ(storage->ring()->applied(), 8u);
      EXPECT_EQ(TextOf(storage->ring()->EntryOf(5)), "from5");
      EXPECT_EQ(TextOf(storage->ring()->EntryOf(10)), "from9");
      EXPECT_GT(storage->record()->state().incarnation, 1000u);
    }
    if (drains < moment) break;
  }
  EXPECT_GT(crashes, 10);
}

TEST_F(StorageTest, ARingDoesNotShrinkBelowItsEntries) {
  StorageOptions larger = Tiny();
  larger.ring_bytes *= 4;
  {
    auto storage = Open(larger);
    const std::string text(30u << 10, 'x');
    for (uint64_t sequence = 1; sequence <= 7; ++sequence) {
      ASSERT_TRUE(replica::AppendText(storage->ring(), text).ok());
    }
  }
  disk_.Kill();
  const absl::Status refused = TryOpen().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--ring_mb"));
  EXPECT_EQ(Open(larger)->ring()->received(), 7u);
}

TEST_F(StorageTest, AnUnfinishedTransferIsNotTakenForAHeap) {
  auto storage = Open();
  storage->BeginReceiving();
  const ObjectId root = storage->heap()->root();
  std::memset(storage->heap_region()->base() + root, 0x5a, 4096);
  disk_.Crash(3);
  storage = Open();
  EXPECT_EQ(storage->record()->state().condition, Condition::kReceiving);

  // The next one ends.
  Receive(storage.get(), 41);
  ASSERT_TRUE(replica::AppendText(storage->ring(), "entry").ok());
  disk_.Crash(4);
  storage = Open();
  EXPECT_EQ(storage->record()->state().condition, Condition::kBehind);
  EXPECT_EQ(storage->ring()->applied(), 41u);
  EXPECT_EQ(storage->ring()->received(), 42u);
}

// --- Files of different ages.

SimDisk::Images Only(SimDisk::Images images, std::initializer_list<Part> kept) {
  for (Part part : {Part::kHeap, Part::kRing, Part::kUndoCopy}) {
    if (std::find(kept.begin(), kept.end(), part) == kept.end()) {
      images.erase(part);
    }
  }
  return images;
}

TEST_F(StorageTest, NamesTheFileOfAnotherAge) {
  for (const bool reopened : {false, true}) {
    SCOPED_TRACE(reopened);
    disk_ = SimDisk();
    auto storage = Open();
    ApplyOne(storage.get());
    const SimDisk::Images before = disk_.Copy();
    if (reopened) {
      disk_.Kill();
      storage = Open();
    } else {
      ApplyOne(storage.get());
      ApplyOne(storage.get());
    }
    const SimDisk::Images after = disk_.Copy();
    disk_.PutBack(Only(before, {Part::kHeap}));
    absl::Status refused = TryOpen().status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("heap is older than ring: "));
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr(reopened ? "incarnations 1000 and 1001"
                                   : "up to 1, the other one those up to 3"));
    disk_.PutBack(after);
    disk_.PutBack(Only(before, {Part::kRing, Part::kUndoCopy}));
    refused = TryOpen().status();
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("ring is older than heap: "));
    // Whole copies are of one age.
    disk_.PutBack(before);
    EXPECT_EQ(Open()->ring()->applied(), 1u);
  }
}

// Each of them is right, and both were opened as often.
TEST_F(StorageTest, RefusesFilesOfSeparateHistories) {
  Open();
  const SimDisk::Images before = disk_.Copy();
  Open();
  const SimDisk::Images one_way = disk_.Copy();
  disk_.PutBack(before);
  StorageOptions another_start = Tiny();
  another_start.salt = 99;
  Open(another_start);
  disk_.PutBack(Only(one_way, {Part::kHeap}));
  EXPECT_THAT(std::string(TryOpen().status().message()),
              HasSubstr("heap and ring are not of one node any more"));
}

TEST_F(StorageTest, AHeadsUndoCopyMustHaveItsAge) {
  auto storage = Open();
  const SimDisk::Images never_used = disk_.Copy();
  CommitOneAndCrash(1);
  disk_.PutBack(Only(never_used, {Part::kUndoCopy}));
  EXPECT_THAT(std::string(TryOpen().status().message()),
              HasSubstr("backup was never opened, but according to ring"));

  disk_ = SimDisk();
  storage = Open();
  auto undo_copy = *storage->NewUndoCopy();
  NodeState state = storage->record()->state();
  state.was_head = true;
  state.condition = Condition::kSound;
  storage->record()->Update(state);
  const SimDisk::Images begun = disk_.Copy();
  ApplyOne(storage.get());
  ApplyOne(storage.get());
  disk_.Kill();
  const SimDisk::Images whole = disk_.Copy();
  disk_.PutBack(Only(begun, {Part::kUndoCopy}));
  EXPECT_THAT(std::string(TryOpen().status().message()),
              HasSubstr("backup is older than ring: "));
  disk_.PutBack(whole);
  EXPECT_EQ(Open()->ring()->applied(), 2u);
}

// The ring alone might be the result of a crash: the head would drop what it
// has committed.
TEST_F(StorageTest, TheUndoCopyRevealsAnOldHeap) {
  auto storage = Open();
  ApplyOne(storage.get());
  const SimDisk::Images before = disk_.Copy();
  ApplyOne(storage.get());
  const auto undo_copy = *storage->NewUndoCopy();
  NodeState state = storage->record()->state();
  state.was_head = true;
  state.condition = Condition::kSound;
  storage->record()->Update(state);
  disk_.Kill();
  const SimDisk::Images whole = disk_.Copy();
  disk_.PutBack(Only(before, {Part::kHeap}));
  EXPECT_THAT(std::string(TryOpen().status().message()),
              HasSubstr("heap is older than backup: "));
  disk_.PutBack(whole);
  EXPECT_EQ(Open()->ring()->applied(), 2u);
}

// A mark that is not drained may be in one file and not in another. That is a
// crash, and a mark that is not in all files was told to no other node.
TEST_F(StorageTest, ACrashIsNotTakenForMixedFiles) {
  std::set<uint64_t> found;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    disk_ = SimDisk(/*drains_all=*/seed % 2 == 0);
    auto storage = Open();
    ApplyOne(storage.get());
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(replica::AppendText(storage->ring(), "entry").ok());
    }
    for (uint64_t sequence = 2; sequence <= 4; ++sequence) {
      storage->ring()->MarkApplied(sequence);
    }
    disk_.Crash(seed);
    storage = Open();
    ASSERT_NE(storage, nullptr) << seed;
    EXPECT_EQ(storage->ring()->received(), 4u);
    found.insert(storage->ring()->applied());
    // All of them say the same from here on.
    storage->ring()->MarkApplied(4);
    storage->ring()->PersistApplied();
    disk_.Crash(seed);
    EXPECT_EQ(Open()->ring()->applied(), 4u);
  }
  EXPECT_THAT(found, ::testing::UnorderedElementsAre(1, 4));
}

TEST_F(StorageTest, AStartMayBeInterruptedRepeatedly) {
  for (int moment = 1; moment < 100; ++moment) {
    disk_ = SimDisk();
    Open();
    int drains = 0;
    for (int again = 0; again < 3; ++again) {
      drains = 0;
      disk_.SetDrainHook([&] {
        if (++drains == moment) disk_.Crash(moment + again);
      });
      TryOpen().IgnoreError();
      disk_.SetDrainHook(nullptr);
    }
    const auto opened = TryOpen();
    ASSERT_TRUE(opened.ok()) << moment << ": " << opened.status();
    if (drains < moment) {
      EXPECT_GT(moment, 3);
      return;
    }
  }
  FAIL() << "an open of so many drains";
}

TEST_F(StorageTest, TheSpaceOfTheUndoCopyIsReservedAtTheStart) {
  StorageOptions options = Tiny();
  Open(options);
  EXPECT_NE(disk_.region(Part::kUndoCopy), nullptr);
  disk_ = SimDisk();
  options.reserve_undo_copy = false;
  auto storage = Open(options);
  EXPECT_EQ(disk_.region(Part::kUndoCopy), nullptr);
  EXPECT_TRUE(storage->NewUndoCopy().ok());
  EXPECT_NE(disk_.region(Part::kUndoCopy), nullptr);
}

// --- Restarts.

TEST_F(StorageTest, UncleanStopsAreCounted) {
  EXPECT_EQ(Open()->record()->state().restarts, 0u);
  EXPECT_EQ(Open()->record()->state().restarts, 1u);
  auto third = Open();
  EXPECT_EQ(third->record()->state().restarts, 2u);
  third->restarts()->OnEndInOrder();
  third.reset();
  EXPECT_EQ(Open()->record()->state().restarts, 0u);
  auto fifth = Open();
  EXPECT_EQ(fifth->record()->state().restarts, 1u);
  fifth->restarts()->Forget();
  fifth.reset();
  EXPECT_EQ(Open()->record()->state().restarts, 1u);
}

TEST_F(StorageTest, RefusalsNeitherCountNorResetTheCount) {
  Open();
  for (int i = 0; i < 3; ++i) Open()->restarts()->OnRefused();
  Open()->restarts()->OnRefused();  // with the end of the first one
  EXPECT_EQ(Open()->record()->state().restarts, 1u);
  auto third = Open();
  EXPECT_EQ(third->record()->state().restarts, 2u);
  third->restarts()->OnRefused();
  third.reset();
  EXPECT_EQ(Open()->record()->state().restarts, 2u);
  faults::Planted fault("storage-counts-refusals");
  Open()->restarts()->OnRefused();
  EXPECT_EQ(Open()->record()->state().restarts, 4u);
}

// Its supervisor starts it all the same: it is to say each time what is wrong.
TEST_F(StorageTest, AFailedRecoveryDoesNotCount) {
  StorageOptions options = Tiny();
  options.restart_limit = 3;
  CommitOneAndCrash(1);
  SimDisk::Images images = disk_.Copy();
  std::memset(images[Part::kUndoCopy].data(), 0xa5, 64);
  disk_.PutBack(images);
  for (int i = 0; i < 10; ++i) {
    const absl::Status refused = TryOpen(options).status();
    EXPECT_THAT(std::string(refused.message()), HasSubstr("heap: backup"));
  }
}

TEST_F(StorageTest, ARebootDoesNotCount) {
  StorageOptions options = Tiny();
  options.restart_limit = 3;
  for (options.boot = 1; options.boot < 10; ++options.boot) {
    EXPECT_EQ(Open(options)->record()->state().restarts, 0u);
  }
  EXPECT_EQ(Open(options)->record()->state().restarts, 0u);
  EXPECT_EQ(Open(options)->record()->state().restarts, 1u);
  EXPECT_EQ(Open(options)->record()->state().restarts, 2u);
  EXPECT_FALSE(TryOpen(options).ok());
  // The machine may have caused that restart.
  ++options.boot;
  EXPECT_EQ(Open(options)->record()->state().restarts, 2u);
  EXPECT_FALSE(TryOpen(options).ok());
  // Where it is not known nothing is forgiven.
  options.boot = 0;
  EXPECT_FALSE(TryOpen(options).ok());
}

TEST_F(StorageTest, ANodeThatDiedTooOftenStaysDown) {
  StorageOptions limited = Tiny();
  limited.restart_limit = 3;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(TryOpen(limited).ok());
  for (int i = 0; i < 2; ++i) {
    const auto refused = TryOpen(limited);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr("died 3 times"));
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr("--restart_limit=0"));
  }
  // Refusals do not count, and it goes on where an operator wants it to.
  auto again = Open();
  EXPECT_EQ(again->record()->state().restarts, 3u);
  again->restarts()->OnEndInOrder();
  again.reset();
  EXPECT_TRUE(TryOpen(limited).ok());
}

}  // namespace
}  // namespace kamino::node
