// Which lines Archapt leaves to the cache, how it repairs them when that was
// wrong, and its steps before it reuses a matrix's place.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "lab/archapt/archapt_format.h"
#include "lab/archapt/archapt_store.h"
#include "lab/archapt/matrix.h"
#include "lab/tests/archapt/archapt_fixture.h"
#include "tests/faults/planted.h"

namespace kamino::engine {
namespace {

class ArchaptMatricesTest : public ArchaptTest {
 protected:
  // The result of opening the durable content.
  absl::Status OpenDurable(std::vector<ObjectId>* lost) {
    SimRegion after(SimRegion::Image(region_.durable(),
                                     region_.durable() + region_.size()));
    auto heap = *Heap::Open(&after);
    const auto opened = ArchaptStore::Open(options_, heap.get());
    if (opened.ok()) *lost = (*opened)->recovery_report().lost_objects;
    return opened.status();
  }

  // One thread gives matrices up, the other takes their blocks.
  void UseBlocksOfMatrices() {
    region_.ActAs(1);
    const auto ids = MakeMany(60);
    for (ObjectId id : ids) Fill(id, 'a');
    store_->Advance();
    EXPECT_EQ(store_->kept_blocks(), 10u);
    store_->Quiesce();
    EXPECT_EQ(store_->kept_blocks(), 0u);
    region_.ActAs(2);
    MakeMany(20, SumsBytes(4, 16));
  }

  // Two objects are lost; one thread frees one, the other one makes new ones.
  void UseBlockOfALostObject() {
    const auto ids = MakeMany(60);
    for (ObjectId id : ids) Fill(id, 'a');
    store_->Advance();
    SimRegion::Image image(region_.durable(),
                           region_.durable() + region_.size());
    for (size_t i = 2; i < 40; ++i) {
      std::memcpy(&image[ids[i]], region_.base() + ids[i], 1000);
    }
    store_.reset();
    region_.Reset(image.data());
    heap_ = *Heap::Open(&region_);
    store_ = *ArchaptStore::Open(options_, heap_.get());
    region_.ActAs(1);
    auto freeing = Begin();
    EXPECT_TRUE(freeing->Free(ids[0]).ok());
    const uint64_t sequence = Commit(*freeing);
    EXPECT_TRUE(store_->AwaitDurable(sequence, kBriefly));
    freeing.reset();
    region_.ActAs(2);
    const auto made = MakeMany(20);
    EXPECT_EQ(std::count(made.begin(), made.end(), ids[0]), 1);
    lost_ = ids[1];
  }

  ObjectId lost_ = kNullObject;  // and stays so
};

// It could not be freed if it were lost.
TEST_F(ArchaptMatricesTest, TheRootIsInNoMatrix) {
  options_.gainful_only = false;
  store_.reset();
  store_ = *ArchaptStore::Open(options_, heap_.get());
  const auto others = MakeMany(30);
  auto ids = MakeMany(4, 240);
  const ObjectId made = ids.back();
  for (const ObjectId last : {store_->root(), made}) {
    ids.back() = last;
    const uint64_t matrices = store_->stats().matrices;
    for (ObjectId id : ids) Fill(id, 'r', 240);
    store_->Advance();
    for (ObjectId id : others) {
      ASSERT_TRUE(Begin()->Read(id).ok());
    }
    store_->Advance();
    store_->Advance();
    const bool is_root = last == store_->root();
    EXPECT_EQ(store_->stats().matrices - matrices, is_root ? 0u : 1u);
    EXPECT_EQ(region_.durable()[last] == std::byte{'r'}, is_root);
    store_->Quiesce();
  }
}

// Objects that are no longer accessed leave the queue without a flush; their
// transactions are committed nevertheless.
TEST_F(ArchaptMatricesTest, FlushesAreSkipped) {
  const auto ids = MakeMany(60);
  const ArchaptStats before = store_->stats();
  std::vector<uint64_t> sequences;
  for (ObjectId id : ids) sequences.push_back(Fill(id, 'a'));
  store_->Advance();
  const ArchaptStats stats = store_->stats();
  EXPECT_EQ(stats.matrices - before.matrices, 10u);
  EXPECT_EQ(stats.skipped_lines - before.skipped_lines, 40u * 16);
  EXPECT_EQ(stats.flushed_lines, before.flushed_lines);
  // Sums over four objects, 64 lines.
  EXPECT_EQ(stats.sums_lines - before.sums_lines, 10u * 26);
  EXPECT_EQ(store_->durable_sequence(), sequences[39]);
  EXPECT_EQ(store_->kept_blocks(), 10u);
}

// Only one object of each matrix was evicted.
TEST_F(ArchaptMatricesTest, LostUnflushedLinesAreRepaired) {
  const auto ids = MakeMany(60);
  for (ObjectId id : ids) Fill(id, 'a');
  store_->Advance();
  CrashAndOpen([&](SimRegion::Image* image) {
    // Three of four objects are home.
    for (size_t i = 0; i < 40; ++i) {
      if (i % 4 == 1) continue;
      std::memcpy(&(*image)[ids[i]], region_.base() + ids[i], 1000);
    }
  });
  const RecoveryReport report = store_->recovery_report();
  EXPECT_EQ(report.repaired_lines, 10u * 16);
  EXPECT_TRUE(report.lost_objects.empty());
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(Text(ids[i], 1000), std::string(1000, 'a'));
  }
  Reopen();
  EXPECT_EQ(store_->recovery_report().repaired_lines, 0u);
  EXPECT_EQ(Text(ids[1], 1000), std::string(1000, 'a'));
}

TEST_F(ArchaptMatricesTest, LostObjectsAreReportedUntilTheyAreFreed) {
  const auto ids = MakeMany(60);
  for (ObjectId id : ids) Fill(id, 'a');
  store_->Advance();
  CrashAndOpen([&](SimRegion::Image* image) {
    for (size_t i = 0; i < 40; ++i) {
      if (i == 1 || i == 2) continue;
      std::memcpy(&(*image)[ids[i]], region_.base() + ids[i], 1000);
    }
  });
  const std::vector<ObjectId> lost = {std::min(ids[1], ids[2]),
                                      std::max(ids[1], ids[2])};
  for (int times = 0; times < 2; ++times) {
    EXPECT_EQ(store_->recovery_report().lost_objects, lost);
    EXPECT_TRUE(absl::IsDataLoss(Begin()->Read(ids[1]).status()));
    EXPECT_TRUE(absl::IsDataLoss(Begin()->Write(ids[2], 0, 1).status()));
    EXPECT_TRUE(absl::IsDataLoss(Begin()->Overwrite(ids[2], 0, BytesOf("x"))));
    EXPECT_EQ(Text(ids[0], 3), "aaa");
    Reopen();
  }
  // An aborted free keeps the object.
  auto changed_its_mind = Begin();
  ASSERT_TRUE(changed_its_mind->Free(ids[1]).ok());
  ASSERT_TRUE(changed_its_mind->Abort().ok());
  EXPECT_TRUE(absl::IsDataLoss(Begin()->Read(ids[1]).status()));
  auto freeing = Begin();
  ASSERT_TRUE(freeing->Free(ids[1]).ok());
  Commit(*freeing);
  store_->Quiesce();
  Reopen();
  EXPECT_EQ(store_->recovery_report().lost_objects,
            std::vector<ObjectId>{ids[2]});
  freeing = Begin();
  ASSERT_TRUE(freeing->Free(ids[2]).ok());
  Commit(*freeing);
  store_->Quiesce();
  freeing.reset();
  // Another user's.
  const auto made = MakeMany(10);
  Reopen();
  EXPECT_TRUE(store_->recovery_report().lost_objects.empty());
  EXPECT_EQ(Text(made[0], 1), std::string(1, '\0'));
}

// An object beyond repair is not lost if recovery rolls it back.
TEST_F(ArchaptMatricesTest, RolledBackObjectsAreNotLost) {
  const ObjectId first = MakeMany(1, 3000)[0];
  const auto ids = MakeMany(60);
  for (ObjectId id : ids) Fill(id, 'a');
  store_->Quiesce();
  const uint64_t durable = store_->durable_sequence();
  // No other object has its size to make a matrix with, so no later one is
  // durable.
  Fill(first, 'b', 3000);
  for (ObjectId id : ids) Fill(id, 'b');
  const uint64_t matrices = store_->stats().matrices;
  store_->Advance();
  EXPECT_GT(store_->stats().matrices, matrices);
  EXPECT_EQ(store_->durable_sequence(), durable);
  CrashAndOpen();
  EXPECT_EQ(store_->recovery_report().last_sequence, durable);
  EXPECT_TRUE(store_->recovery_report().lost_objects.empty());
  for (ObjectId id : ids) EXPECT_EQ(Text(id, 1000), std::string(1000, 'a'));
  EXPECT_EQ(Text(first, 3000), std::string(3000, '\0'));
}

TEST_F(ArchaptMatricesTest, AMatrixIsDissolvedBeforeAColumnChanges) {
  const auto ids = MakeMany(60);
  for (ObjectId id : ids) Fill(id, 'a');
  store_->Advance();
  ASSERT_EQ(store_->stats().dissolved, 0u);
  auto transaction = Begin();
  std::memset(*transaction->Write(ids[0], 100, 8), 'b', 8);
  EXPECT_EQ(store_->stats().dissolved, 1u);
  // Its matrix's columns are durable now, including the bytes before.
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(std::memcmp(region_.durable() + ids[i],
                          std::string(1000, 'a').data(), 1000),
              0);
  }
  ASSERT_TRUE(transaction->Abort().ok());
  transaction = Begin();
  ASSERT_TRUE(transaction->Free(ids[5]).ok());
  EXPECT_EQ(store_->stats().dissolved, 2u);
  Commit(*transaction);
  // It does not care about reads.
  EXPECT_EQ(Text(ids[9], 1), "a");
  EXPECT_EQ(store_->stats().dissolved, 2u);
  CrashAndOpen([&](SimRegion::Image* image) {
    for (size_t i = 8; i < 40; ++i) {
      std::memcpy(&(*image)[ids[i]], region_.base() + ids[i], 1000);
    }
  });
  EXPECT_TRUE(store_->recovery_report().lost_objects.empty());
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(Text(ids[i], 1000), std::string(1000, 'a')) << i;
  }
}

// --- For benchmarks: without checks; the difference is the cost of sums.

TEST_F(ArchaptMatricesTest, UncheckedMatricesWriteNothing) {
  const auto writes = [this](bool unchecked) {
    options_.unchecked = unchecked;
    SimRegion region(Heap::kMinBytes);
    const auto heap =
        *Heap::CreateWithLog(&region, ArchaptLabel(options_), kLogBytes);
    store_ = *ArchaptStore::Open(options_, heap.get());
    const auto ids = MakeMany(60);
    for (ObjectId id : ids) Fill(id, 'a');
    store_->Advance();
    EXPECT_EQ(store_->stats().matrices, 10u);
    // The first slot, where the first matrix would be described.
    const std::byte* const slot = region.durable() +
                                  (heap->log_area().data() - region.base()) +
                                  sizeof(archapt_format::LogHeader);
    const bool written =
        std::any_of(slot + offsetof(archapt_format::SlotHeader, block),
                    slot + archapt_format::kSlotBytes,
                    [](std::byte byte) { return byte != std::byte{0}; });
    store_.reset();
    return written;
  };
  EXPECT_TRUE(writes(false));
  EXPECT_FALSE(writes(true));
}

// --- Free space is reused only once its freedom is durable.

TEST_F(ArchaptMatricesTest, SumBlocksAreFreedAfterADurableDissolve) {
  UseBlocksOfMatrices();
  std::vector<ObjectId> lost;
  EXPECT_TRUE(OpenDurable(&lost).ok());
  EXPECT_TRUE(lost.empty());
}

TEST_F(ArchaptMatricesTest, PlantedFaultMakesTheStoreUnreadable) {
  faults::Planted planted("archapt-dissolved-without-drain");
  UseBlocksOfMatrices();
  std::vector<ObjectId> lost;
  EXPECT_TRUE(absl::IsDataLoss(OpenDurable(&lost)));
}

TEST_F(ArchaptMatricesTest, ALossIsForgottenBeforeItsBlockIsReused) {
  UseBlockOfALostObject();
  std::vector<ObjectId> lost;
  EXPECT_TRUE(OpenDurable(&lost).ok());
  EXPECT_EQ(lost, std::vector<ObjectId>{lost_});
}

}  // namespace
}  // namespace kamino::engine
