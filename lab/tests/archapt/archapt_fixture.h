// A store of Archapt's in a simulated region, with a queue of twenty objects
// and matrices of four.
#ifndef KAMINO_LAB_TESTS_ARCHAPT_ARCHAPT_FIXTURE_H_
#define KAMINO_LAB_TESTS_ARCHAPT_ARCHAPT_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "lab/archapt/archapt_store.h"

namespace kamino::engine {

inline constexpr size_t kLogBytes = 256u << 10;
// Twenty objects of 1 KiB.
inline constexpr uint64_t kQueueBytes = 20 << 10;

// Too short for other threads to act: missing flushes are made.
inline constexpr absl::Duration kBriefly = absl::Nanoseconds(1);

inline absl::Span<const std::byte> BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

class ArchaptTest : public ::testing::Test {
 protected:
  explicit ArchaptTest(uint64_t queue_bytes = kQueueBytes) {
    options_.queue_bytes = queue_bytes;
    options_.columns = 4;
    heap_ = *Heap::CreateWithLog(&region_, kArchaptName, kLogBytes);
    store_ = *ArchaptStore::Open(options_, heap_.get());
  }

  std::unique_ptr<Transaction> Begin() {
    return store_->Begin(absl::ZeroDuration());
  }

  // Commits; the sequence.
  static uint64_t Commit(Transaction& transaction) {
    uint64_t sequence = 0;
    CommitOptions options;
    options.durable_at = &sequence;
    EXPECT_TRUE(transaction.Commit(options).ok());
    return sequence;
  }

  ObjectId Make(uint32_t size) {
    auto transaction = Begin();
    const ObjectId id = *transaction->Alloc(size);
    Commit(*transaction);
    return id;
  }
  std::vector<ObjectId> MakeMany(size_t count, uint32_t size = 1000) {
    std::vector<ObjectId> ids;
    for (size_t i = 0; i < count; ++i) ids.push_back(Make(size));
    store_->Quiesce();
    return ids;
  }
  // The whole object.
  uint64_t Fill(ObjectId id, char c, size_t size = 1000) {
    auto transaction = Begin();
    EXPECT_TRUE(
        transaction->Overwrite(id, 0, BytesOf(std::string(size, c))).ok());
    return Commit(*transaction);
  }
  std::string Text(ObjectId id, size_t length) {
    auto transaction = Begin();
    const auto bytes = transaction->Read(id);
    if (!bytes.ok()) return std::string(bytes.status().message());
    return {reinterpret_cast<const char*>(bytes->data()), length};
  }

  // Opens the image of a crash that loses everything not durable, after
  // `change`.
  void CrashAndOpen(
      const std::function<void(SimRegion::Image*)>& change = nullptr) {
    SimRegion::Image image(region_.durable(),
                           region_.durable() + region_.size());
    if (change != nullptr) change(&image);
    left_ = std::move(store_);
    left_heap_ = std::move(heap_);
    after_ = std::make_unique<SimRegion>(image);
    Reopen();
  }
  void Reopen() {
    store_.reset();
    heap_ = *Heap::Open(after_.get());
    auto opened = ArchaptStore::Open(options_, heap_.get());
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }

  SimRegion region_{Heap::kMinBytes};
  std::unique_ptr<SimRegion> after_;
  ArchaptOptions options_;
  std::unique_ptr<Heap> left_heap_;
  std::unique_ptr<ArchaptStore> left_;  // kept until the end
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<ArchaptStore> store_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_TESTS_ARCHAPT_ARCHAPT_FIXTURE_H_
