#include "engine/heap/open_snapshots.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/index/key_value.h"
#include "engine/kamino/kamino_store.h"
#include "engine/kamino/replica_transaction.h"
#include "engine/kamino/undo_copy.h"
#include "engine/pmem/sim_region.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"

namespace kamino::engine {
namespace {

using ::testing::HasSubstr;

constexpr size_t kHeapBytes = Heap::kMinBytes;

using Objects = std::map<ObjectId, std::string>;
using Entries = std::map<std::string, std::string>;

// The root object, with all objects of a tree under it and of the test.
class OpenSnapshotsTest : public ::testing::Test {
 protected:
  OpenSnapshotsTest() { Make({}); }

  void Make(OpenSnapshotsOptions options) {
    store_.reset();
    snapshots_.reset();
    heap_region_ = std::make_unique<SimRegion>(kHeapBytes);
    undo_copy_region_ =
        std::make_unique<SimRegion>(DynamicUndoCopyBytes(kHeapBytes, 0.3));
    heap_ = *Heap::Create(heap_region_.get(), "test");
    snapshots_ = std::make_unique<OpenSnapshots>(heap_.get(), options);
    KaminoOptions store;
    store.copy_at_commit = false;
    store.snapshots = snapshots_.get();
    store_ = *KaminoStore::Open(
        heap_.get(),
        *CreateDynamicUndoCopy(heap_.get(), undo_copy_region_.get()), store);
    sequence_ = 0;
    ids_.clear();
    Commit([this](Transaction& transaction) {
      tree_ = *BTree::Create(transaction);
    });
  }
  ~OpenSnapshotsTest() override {
    store_.reset();
    snapshots_.reset();
  }

  template <typename Body>
  void Commit(Body body, bool abort = false) {
    auto transaction = store_->Begin(absl::ZeroDuration());
    body(*transaction);
    if (abort) {
      ASSERT_TRUE(transaction->Abort().ok());
      return;
    }
    CommitOptions options;
    options.sequence = ++sequence_;
    ASSERT_TRUE(transaction->Commit(options).ok());
    store_->PropagateToUndoCopy(1000);
  }
  void Put(const std::string& key, const std::string& value) {
    Commit([&](Transaction& transaction) {
      ASSERT_TRUE(
          KeyValue(&transaction, tree_).Put(key, value, sequence_ + 1).ok());
    });
  }
  std::unique_ptr<Snapshot> Open() { return *snapshots_->Open(sequence_); }

  static Entries Scan(Reader& reader, ObjectId tree) {
    Entries entries;
    // If there is damage, the entries before it.
    (void)KeyValueReader(&reader, tree)
        .Scan("", "", 0, [&](absl::string_view key, const auto& entry) {
          entries[std::string(key)] = std::string(entry.value);
          return true;
        });
    return entries;
  }
  static std::string Text(Reader& reader, ObjectId id) {
    auto bytes = reader.Read(id);
    if (absl::IsNotFound(bytes.status())) return "(none)";
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
  }
  // Every id there ever was, by the heap itself.
  Objects Copy() {
    Objects copy;
    for (ObjectId id : ids_) {
      auto payload = heap_->Payload(id);
      copy[id] = payload.ok()
                     ? std::string(reinterpret_cast<char*>(payload->data()),
                                   payload->size())
                     : "(none)";
    }
    return copy;
  }

  bool IndexHolds();
  bool OlderHolds();

  // Changes some objects at random; it may be aborted.
  void ChangeAtRandom(std::mt19937& random) {
    const auto draw = [&](size_t n) { return random() % n; };
    Commit(
        [&](Transaction& transaction) {
          for (size_t i = 0; i <= draw(4); ++i) {
            const size_t what = draw(4);
            if (what == 0 || ids_.empty()) {
              auto id = transaction.Alloc(1 + draw(3000));
              ASSERT_TRUE(id.ok()) << id.status();
              std::byte* bytes = *transaction.Write(*id, 0, 1);
              *bytes = static_cast<std::byte>(random());
              if (std::find(ids_.begin(), ids_.end(), *id) == ids_.end()) {
                ids_.push_back(*id);
              }
              continue;
            }
            const ObjectId id = ids_[draw(ids_.size())];
            auto bytes = transaction.Read(id);
            if (!bytes.ok()) continue;
            if (what == 1) {
              ASSERT_TRUE(transaction.Free(id).ok());
            } else {
              const auto at = static_cast<uint32_t>(draw(bytes->size()));
              *(*transaction.Write(id, at, 1)) =
                  static_cast<std::byte>(random());
            }
          }
        },
        /*abort=*/draw(5) == 0);
  }

  std::unique_ptr<SimRegion> heap_region_;
  std::unique_ptr<SimRegion> undo_copy_region_;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<OpenSnapshots> snapshots_;
  std::unique_ptr<KaminoStore> store_;
  ObjectId tree_ = kNullObject;
  uint64_t sequence_ = 0;
  std::vector<ObjectId> ids_;
};

// Compared with copies of the heap, made when each snapshot was opened.
TEST_F(OpenSnapshotsTest, SnapshotsShowTheHeapAsItWas) {
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    Make({});
    std::mt19937 random(seed);
    struct Taken {
      std::unique_ptr<Snapshot> snapshot;
      Objects copy;
    };
    std::vector<Taken> taken;
    for (int step = 0; step < 250; ++step) {
      if (random() % 12 == 0 && taken.size() < 6) {
        taken.push_back({Open(), Copy()});
      } else if (random() % 20 == 0 && !taken.empty()) {
        taken.erase(taken.begin() + random() % taken.size());
      } else {
        ChangeAtRandom(random);
      }
      if (step % 25 != 0 && step != 249) continue;
      for (const Taken& each : taken) {
        for (ObjectId id : ids_) {
          const auto then = each.copy.find(id);
          const std::string expected =
              then == each.copy.end() ? "(none)" : then->second;
          ASSERT_EQ(Text(*each.snapshot, id), expected)
              << "seed " << seed << ", step " << step << ", object " << id
              << " at " << each.snapshot->sequence();
        }
      }
    }
    taken.clear();
    EXPECT_EQ(snapshots_->stats().open, 0u);
    EXPECT_EQ(snapshots_->stats().bytes, 0u);
  }
}

// Pages are split, emptied and freed while it is open.
bool OpenSnapshotsTest::IndexHolds() {
  for (int i = 0; i < 600; ++i) {
    Put(absl::StrCat("key-", i * 7 % 600), absl::StrCat("old-", i));
  }
  const auto snapshot = Open();
  const Entries before = Scan(*snapshot, tree_);
  EXPECT_EQ(before.size(), 600u);
  for (int i = 0; i < 600; ++i) {
    if (i % 3 == 0) {
      Commit([&](Transaction& transaction) {
        ASSERT_TRUE(KeyValue(&transaction, tree_)
                        .Delete(absl::StrCat("key-", i), sequence_ + 1)
                        .ok());
      });
    } else {
      Put(absl::StrCat("key-", i), std::string(1 + i % 90, 'n'));
    }
    Put(absl::StrCat("new-", i), "n");
  }
  return Scan(*snapshot, tree_) == before &&
         Scan(*Open(), tree_).size() == 1000;
}

TEST_F(OpenSnapshotsTest, AnIndexIsReadAsItWas) { EXPECT_TRUE(IndexHolds()); }

TEST_F(OpenSnapshotsTest, PlantedFaultLosesIndexPages) {
  faults::Planted fault("snapshot-leaves-out-index-pages");
  EXPECT_FALSE(IndexHolds());
}

// As at the tail: by the entry's write set, before it is executed.
TEST_F(OpenSnapshotsTest, SnapshotsWorkOnAReplica) {
  SimRegion region(kHeapBytes);
  auto replica = *Heap::Create(&region, "test");
  OpenSnapshots snapshots(replica.get());
  const auto put = [&](const std::string& key, const std::string& value) {
    const auto body = [&](Transaction& transaction) {
      KeyValue tree(&transaction, tree_);
      ASSERT_TRUE(tree.Put(key, value, 1).ok());
    };
    WriteSet write_set;
    Commit([&](Transaction& transaction) {
      body(transaction);
      write_set = transaction.write_set();
    });
    for (const Intent& intent : write_set) snapshots.BeforeChange(intent);
    ReplicaTransaction transaction(replica.get(), write_set);
    body(transaction);
    ASSERT_TRUE(static_cast<Transaction&>(transaction).Commit().ok());
  };
  {
    WriteSet made;
    Make({});
    made.push_back({tree_, 0, 4080, IntentKind::kAlloc});
    ReplicaTransaction transaction(replica.get(), made);
    ASSERT_EQ(*BTree::Create(transaction), tree_);
    ASSERT_TRUE(static_cast<Transaction&>(transaction).Commit().ok());
  }
  for (int i = 0; i < 300; ++i) put(absl::StrCat("a", i), "old");
  const auto snapshot = *snapshots.Open(sequence_);
  const Entries before = Scan(*snapshot, tree_);
  for (int i = 0; i < 300; ++i) {
    put(absl::StrCat("a", i), "another one, which is longer");
    put(absl::StrCat("b", i), "new");
  }
  EXPECT_EQ(before.size(), 300u);
  EXPECT_EQ(Scan(*snapshot, tree_), before);
}

TEST_F(OpenSnapshotsTest, SnapshotsOfOneSequenceShareImages) {
  Put("k", "old");
  const auto first = Open();
  const auto second = Open();
  Put("k", "new");
  const uint64_t images = snapshots_->stats().images;
  EXPECT_GT(images, 0u);
  EXPECT_EQ(snapshots_->stats().open, 2u);
  EXPECT_EQ(Scan(*first, tree_), Scan(*second, tree_));
  EXPECT_EQ(Scan(*first, tree_)["k"], "old");
}

// An older snapshot needs versions that only a closed one has kept.
bool OpenSnapshotsTest::OlderHolds() {
  Put("k", "1");
  Put("l", "1");
  const auto old = Open();
  const Entries then = Scan(*old, tree_);
  Put("k", "2");
  auto young = Open();
  Put("k", "3");
  Put("l", "3");
  young.reset();
  const bool held = Scan(*old, tree_) == then;
  Put("l", "4");
  return held && Scan(*old, tree_) == then;
}

TEST_F(OpenSnapshotsTest, AClosedSnapshotKeepsImagesThatOthersNeed) {
  EXPECT_TRUE(OlderHolds());
}

TEST_F(OpenSnapshotsTest, PlantedFaultDropsImagesThatOthersNeed) {
  faults::Planted fault("snapshot-drops-what-an-older-one-needs");
  EXPECT_FALSE(OlderHolds());
}

// Past the bound the oldest one ends; others continue.
TEST_F(OpenSnapshotsTest, SpaceIsBounded) {
  Make({.max_bytes = 1u << 20, .max_open = 16});
  for (int i = 0; i < 40; ++i) {
    Put(absl::StrCat("k", i), std::string(60000, 'o'));
  }
  const auto old = Open();
  for (int i = 0; i < 10; ++i) {
    Put(absl::StrCat("k", i), std::string(60000, 'n'));
  }
  EXPECT_TRUE(old->status().ok()) << old->status();
  const auto young = Open();
  const Entries then = Scan(*young, tree_);
  for (int i = 10; i < 22; ++i) {
    Put(absl::StrCat("k", i), std::string(60000, 'n'));
    EXPECT_LE(snapshots_->stats().bytes, 1u << 20);
  }
  EXPECT_TRUE(absl::IsAborted(old->status())) << old->status();
  EXPECT_THAT(old->status().message(), HasSubstr("1 MiB kept"));
  EXPECT_TRUE(absl::IsAborted(old->Read(tree_).status()));
  EXPECT_EQ(Scan(*young, tree_), then);
  EXPECT_EQ(snapshots_->stats().aborted, 1u);
  for (int i = 22; i < 40; ++i) {
    Put(absl::StrCat("k", i), std::string(60000, 'n'));
  }
  EXPECT_TRUE(absl::IsAborted(young->status())) << young->status();
  EXPECT_EQ(snapshots_->stats().bytes, 0u);
}

TEST_F(OpenSnapshotsTest, PlantedFaultExceedsTheSpaceBound) {
  faults::Planted fault("snapshot-takes-any-space");
  Make({.max_bytes = 1u << 20, .max_open = 16});
  for (int i = 0; i < 40; ++i) {
    Put(absl::StrCat("k", i), std::string(60000, 'o'));
  }
  const auto snapshot = Open();
  for (int i = 0; i < 40; ++i) {
    Put(absl::StrCat("k", i), std::string(60000, 'n'));
  }
  EXPECT_GT(snapshots_->stats().bytes, 1u << 20);
}

TEST_F(OpenSnapshotsTest, TheNumberOfSnapshotsIsBounded) {
  Make({.max_bytes = 1u << 20, .max_open = 2});
  Put("k", "1");
  const auto first = Open();
  Put("k", "2");
  auto second = Open();
  Put("k", "3");
  EXPECT_TRUE(absl::IsResourceExhausted(snapshots_->Open(sequence_).status()));
  second.reset();
  const auto third = Open();
  EXPECT_EQ(Scan(*first, tree_)["k"], "1");
  EXPECT_EQ(Scan(*third, tree_)["k"], "3");
}

TEST_F(OpenSnapshotsTest, EndAllAbortsEverySnapshot) {
  Put("k", "1");
  const auto snapshot = Open();
  snapshots_->EndAll("the heap is received anew");
  EXPECT_TRUE(absl::IsAborted(snapshot->status()));
  EXPECT_THAT(snapshot->Read(tree_).status().message(),
              HasSubstr("received anew"));
  const auto next = Open();
  snapshots_.reset();  // before a snapshot is closed
  EXPECT_TRUE(absl::IsAborted(next->Read(tree_).status()));
  store_.reset();
  snapshots_ = std::make_unique<OpenSnapshots>(heap_.get());
}

}  // namespace
}  // namespace kamino::engine
