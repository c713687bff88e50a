#include "engine/baselines/transaction_log.h"

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/baselines/heap_store.h"
#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

class TransactionLogTest : public ::testing::Test {
 protected:
  TransactionLogTest()
      : heap_(*Heap::Create(&region_, "undo-own")), log_(heap_.get()) {}

  absl::Status AppendWrite(TransactionLog::Slot slot, const std::string& text,
                           uint32_t offset = 0) {
    return log_.Append(
        slot, {heap_->root(), offset, static_cast<uint32_t>(text.size())},
        reinterpret_cast<const std::byte*>(text.data()));
  }

  SimRegion region_{Heap::kMinBytes};
  std::unique_ptr<Heap> heap_;
  TransactionLog log_;
};

std::string TextOf(const TransactionLog::Record& record) {
  return {reinterpret_cast<const char*>(record.bytes), record.intent.length};
}

TEST_F(TransactionLogTest, HoldsRecordsUntilTheyAreRetired) {
  const TransactionLog::Slot slot = *log_.Acquire();
  ASSERT_TRUE(AppendWrite(slot, "some text", 7).ok());
  const Intent free{heap_->root(), 0, 304, IntentKind::kFree};
  ASSERT_TRUE(log_.Append(slot, free, nullptr).ok());
  auto contents = log_.Read(slot);
  ASSERT_TRUE(contents.ok());
  EXPECT_FALSE(contents->marked);
  ASSERT_EQ(contents->records.size(), 2u);
  EXPECT_EQ(contents->records[0].intent, (Intent{heap_->root(), 7, 9}));
  EXPECT_EQ(TextOf(contents->records[0]), "some text");
  EXPECT_EQ(contents->records[1].intent, free);
  log_.AppendMark(slot);
  EXPECT_TRUE(log_.Read(slot)->marked);
  log_.Retire(slot);
  log_.Recycle(slot);
  EXPECT_TRUE(log_.Read(slot)->records.empty());
  EXPECT_FALSE(log_.Read(slot)->marked);
  // The next transaction's list ends with its own entries.
  ASSERT_EQ(log_.Acquire(), slot);
  ASSERT_TRUE(AppendWrite(slot, "other").ok());
  EXPECT_EQ(log_.Read(slot)->records.size(), 1u);
}

TEST_F(TransactionLogTest, GrowsByRangesOfEverySize) {
  const TransactionLog::Slot slot = *log_.Acquire();
  std::string expected;
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const size_t length = random() % (i % 10 == 0 ? 60000 : 600);
    const std::string text(length, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(AppendWrite(slot, text).ok());
    expected += text;
  }
  log_.AppendMark(slot);
  auto contents = log_.Read(slot);
  ASSERT_TRUE(contents.ok());
  EXPECT_TRUE(contents->marked);
  std::string found;
  for (const auto& record : contents->records) found += TextOf(record);
  EXPECT_EQ(found, expected);
}

// The bytes of an object cannot pass for an entry, wherever they are.
TEST_F(TransactionLogTest, CopiedEntriesAreIgnored) {
  const TransactionLog::Slot slot = *log_.Acquire();
  ASSERT_TRUE(AppendWrite(slot, "some text").ok());
  std::byte* const entry =
      heap_->log_area().data() + sizeof(transaction_log_format::SlotHeader);
  std::memcpy(entry + 64, entry, 64);
  EXPECT_EQ(log_.Read(slot)->records.size(), 1u);
}

// A slot grows into a block that another slot grew into before, with the same
// tag, and a crash leaves none of its own entries there.
TEST_F(TransactionLogTest, EntriesOfAnotherSlotAreIgnored) {
  const TransactionLog::Slot first = *log_.Acquire();
  const TransactionLog::Slot second = *log_.Acquire();
  const std::string large(50000, 'a');
  ASSERT_TRUE(AppendWrite(first, large).ok());
  const size_t pieces = log_.Read(first)->records.size();
  ASSERT_GT(pieces, 1u);
  std::byte* const objects =
      heap_->log_area().data() + heap_->log_area().size();
  const std::vector<std::byte> before(objects, region_.base() + region_.size());
  log_.Retire(first);
  log_.Recycle(first);
  ASSERT_TRUE(AppendWrite(second, large).ok());
  EXPECT_EQ(log_.Read(second)->records.size(), pieces);
  std::memcpy(objects, before.data(), before.size());
  // Those in the slot itself.
  EXPECT_EQ(log_.Read(second)->records.size(), 1u);
}

// Whatever the log area holds, opening succeeds or fails, and reads nothing
// outside.
TEST_F(TransactionLogTest, DamageIsAnErrorOrHarmless) {
  std::mt19937_64 random(1);
  int well = 0;
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    auto heap = Heap::Create(&region_, "undo-own");
    ASSERT_TRUE(heap.ok());
    heap_ = std::move(*heap);
    {
      TransactionLog log(heap_.get());
      const TransactionLog::Slot slot = *log.Acquire();
      for (int i = 0; i < 5; ++i) {
        // In every second round most name ranges and blocks that do not exist.
        const bool exists = round % 2 == 0;
        const std::vector<std::byte> bytes(1 +
                                           random() % (exists ? 200 : 20000));
        Intent intent{heap_->root(), static_cast<uint32_t>(random() % 50),
                      static_cast<uint32_t>(bytes.size())};
        if (!exists) {
          intent.object += random() % 4 * 64;
          intent.offset = random() % 300;
          intent.kind = static_cast<IntentKind>(1 + random() % 3);
        }
        ASSERT_TRUE(log.Append(slot, intent, bytes.data()).ok());
      }
    }
    const absl::Span<std::byte> area = heap_->log_area();
    for (int i = 0; i < round % 4; ++i) {
      area[random() % 16384] ^= static_cast<std::byte>(1 + random() % 255);
    }
    const absl::Status opened =
        HeapStore::Open(HeapScheme::kUndo, heap_.get()).status();
    EXPECT_TRUE(opened.ok() || absl::IsDataLoss(opened)) << opened;
    ++(opened.ok() ? well : refused);
  }
  EXPECT_GT(well, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace kamino::engine
