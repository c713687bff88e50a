// Checks that a directory never changes an answer of the tree.
#include "engine/index/directory.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/heap/heap_reader.h"
#include "engine/index/btree.h"
#include "engine/index/key_value.h"
#include "engine/kamino/kamino_store.h"
#include "engine/kamino/undo_copy.h"
#include "engine/pmem/plain_region.h"
#include "gtest/gtest.h"
#include "tests/engine/kamino/fixture.h"
#include "tests/faults/fault.h"

namespace kamino::engine {
namespace {

constexpr size_t kDirectoryBytes = 4096;
constexpr size_t kBucketBytes = 64;

std::string Key(int i) { return absl::StrCat("key/", i); }

// --- By itself.

TEST(DirectoryTest, FindsWhatWasAddedUntilItIsRemoved) {
  Directory directory(kDirectoryBytes);
  const auto hash = directory.HashOf("a");
  EXPECT_FALSE(directory.Find(hash).has_value());
  directory.Add(hash, 64);
  const auto found = directory.Find(hash);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->record, 64u);
  EXPECT_TRUE(directory.StillValid(*found));
  directory.Add(hash, 128);
  EXPECT_FALSE(directory.StillValid(*found));
  EXPECT_EQ(directory.Find(hash)->record, 128u);
  directory.Remove(hash);
  EXPECT_FALSE(directory.Find(hash).has_value());
  EXPECT_FALSE(directory.StillValid(*found));
  directory.Remove(hash);  // no entry
}

TEST(DirectoryTest, AnEntryStaysValidWhileOthersOfItsBucketChange) {
  Directory directory(kBucketBytes);
  const auto a = directory.HashOf("a");
  const auto b = directory.HashOf("b");
  directory.Add(a, 64);
  const auto found = directory.Find(a);
  directory.Add(b, 128);
  EXPECT_TRUE(directory.StillValid(*found));
  directory.Remove(b);
  EXPECT_TRUE(directory.StillValid(*found));
}

TEST(DirectoryTest, AFullBucketReplacesKeysAndConfusesNone) {
  Directory directory(kBucketBytes);
  for (int i = 1; i <= 100; ++i) {
    directory.Add(directory.HashOf(Key(i)), i * 64);
    EXPECT_EQ(directory.Find(directory.HashOf(Key(i)))->record, i * 64u);
  }
  int kept = 0;
  for (int i = 1; i <= 100; ++i) {
    const auto found = directory.Find(directory.HashOf(Key(i)));
    if (!found.has_value()) continue;
    EXPECT_EQ(found->record, i * 64u);
    ++kept;
  }
  EXPECT_EQ(kept, 2);
}

TEST(DirectoryTest, TakesTheBytesItWasGiven) {
  EXPECT_EQ(Directory(1).bytes(), kBucketBytes);
  EXPECT_EQ(Directory(1 << 20).bytes(), size_t{1} << 20);
  EXPECT_EQ(Directory((1 << 20) + 1).bytes(), size_t{2} << 20);
}

TEST(DirectoryTest, HashesThatAgreeInHalfAreOtherKeys) {
  Directory directory(kBucketBytes);
  EXPECT_FALSE(directory.Find({0, 0}).has_value());  // as a free entry
  const Directory::Hash hash = {1, 2};
  directory.Add(hash, 64);
  for (const Directory::Hash& other :
       {Directory::Hash{1, 3}, Directory::Hash{4, 2}, Directory::Hash{2, 1}}) {
    EXPECT_FALSE(directory.Find(other).has_value());
    directory.Remove(other);
    ASSERT_TRUE(directory.Find(hash).has_value());
  }
  directory.Add({1, 3}, 128);
  EXPECT_EQ(directory.Find(hash)->record, 64u);
  EXPECT_EQ(directory.Find({1, 3})->record, 128u);
}

TEST(DirectoryTest, HashesDependOnASecret) {
  const Directory one(kBucketBytes);
  const Directory two(kBucketBytes);
  EXPECT_EQ(one.HashOf("a").low, one.HashOf("a").low);
  EXPECT_NE(one.HashOf("a").low, two.HashOf("a").low);
  EXPECT_NE(one.HashOf("a").high, two.HashOf("a").high);
}

TEST(DirectoryTest, AReplacedEntryIsNotValid) {
  Directory directory(kBucketBytes);
  const Directory::Hash a = {1, 1}, b = {2, 2}, c = {3, 3};
  directory.Add(a, 64);
  directory.Add(b, 128);
  const auto found_a = *directory.Find(a);
  const auto found_b = *directory.Find(b);
  directory.Add(c, 192);
  EXPECT_EQ(directory.Find(c)->record, 192u);
  const bool has_a = directory.Find(a).has_value();
  EXPECT_NE(directory.Find(b).has_value(), has_a);
  EXPECT_EQ(directory.StillValid(found_a), has_a);
  EXPECT_EQ(directory.StillValid(found_b), !has_a);
  directory.Add(a, 256);  // made again
  EXPECT_FALSE(directory.StillValid(found_a));
  directory.Add(a, 64);  // leads there again
  EXPECT_TRUE(directory.StillValid(found_a));
}

// A record names its key.
TEST(DirectoryTest, ThreadsOfOneBucketFindNoOtherKeysRecord) {
  constexpr uint64_t kKeys = 5;
  Directory directory(kBucketBytes);
  const auto hash_of = [](uint64_t key) {
    return Directory::Hash{key, key + 100};
  };
  std::atomic<bool> right{true};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 200'000; ++i) {
        const uint64_t key = random() % kKeys;
        const int kind = random() % 5;
        if (kind == 0) {
          directory.Remove(hash_of(key));
        } else if (kind <= 2) {
          directory.Add(hash_of(key), 64 * (1 + key + kKeys * (random() % 9)));
        } else if (const auto found = directory.Find(hash_of(key))) {
          if ((found->record / 64 - 1) % kKeys != key) right = false;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(right);
  for (uint64_t key = 0; key < kKeys; ++key) {
    directory.Remove(hash_of(key));
    EXPECT_FALSE(directory.Find(hash_of(key)).has_value());  // not twice
  }
}

// --- Over a tree.

class TreeTest : public ::testing::Test {
 protected:
  TreeTest() {
    std::memset(heap_region_.base(), 0, heap_region_.size());
    std::memset(undo_copy_region_.base(), 0, undo_copy_region_.size());
    heap_ = *Heap::Create(&heap_region_, "test");
    store_ = *KaminoStore::Open(
        heap_.get(), *CreateSimpleUndoCopy(heap_.get(), &undo_copy_region_));
    const absl::Status made =
        Commit([this](KeyValue&) { return absl::OkStatus(); });
    EXPECT_TRUE(made.ok()) << made;
  }

  using Body = std::function<absl::Status(KeyValue&)>;

  // Makes the tree first, if there is none.
  std::unique_ptr<Transaction> Begin() {
    auto transaction = store_->Begin(absl::Milliseconds(1));
    if (root_ == kNullObject) root_ = *BTree::Create(*transaction);
    return transaction;
  }
  absl::Status Run(Transaction& transaction, const Body& body) {
    KeyValue keys(&transaction, root_);
    keys.UseDirectory(directory_.get());
    return body(keys);
  }
  absl::Status Commit(const Body& body) {
    auto transaction = Begin();
    absl::Status done = Run(*transaction, body);
    if (!done.ok()) {
      EXPECT_TRUE(transaction->Abort().ok());
      return done;
    }
    return transaction->Commit();
  }
  void Abort(const Body& body) {
    auto transaction = Begin();
    const absl::Status done = Run(*transaction, body);
    EXPECT_TRUE(done.ok()) << done;
    EXPECT_TRUE(transaction->Abort().ok());
  }

  static absl::Status Put(KeyValue& keys, const std::string& key,
                          const std::string& value) {
    return keys.Put(key, value, 1);
  }
  // The value, or the error's code.
  std::string Get(const std::string& key) {
    std::string value;
    const absl::Status done = Commit([&](KeyValue& keys) {
      const auto entry = keys.Get(key);
      if (entry.ok()) value = std::string(entry->value);
      return entry.status();
    });
    return done.ok() ? value : absl::StatusCodeToString(done.code());
  }
  bool HasEntry(const std::string& key) {
    return directory_->Find(directory_->HashOf(key)).has_value();
  }

  PlainRegion heap_region_{kTestHeapBytes};
  PlainRegion undo_copy_region_{SimpleUndoCopyBytes(kTestHeapBytes)};
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<KaminoStore> store_;
  ObjectId root_ = kNullObject;
  std::unique_ptr<Directory> directory_ =
      std::make_unique<Directory>(kDirectoryBytes);
};

const std::string kLong(300, 'l');

TEST_F(TreeTest, LearnsFromReads) {
  ASSERT_TRUE(Commit([](KeyValue& keys) { return Put(keys, "a", "1"); }).ok());
  EXPECT_FALSE(HasEntry("a"));
  EXPECT_EQ(Get("a"), "1");
  EXPECT_TRUE(HasEntry("a"));
  EXPECT_EQ(Get("a"), "1");
  ASSERT_TRUE(Commit([](KeyValue& keys) { return Put(keys, "a", "2"); }).ok());
  EXPECT_TRUE(HasEntry("a"));  // in place
  EXPECT_EQ(Get("a"), "2");
  ASSERT_TRUE(
      Commit([](KeyValue& keys) { return keys.Patch("a", 0, "3", 1); }).ok());
  EXPECT_EQ(Get("a"), "3");
  EXPECT_EQ(Get("b"), "NOT_FOUND");
  EXPECT_FALSE(HasEntry("b"));
}

TEST_F(TreeTest, AMovedOrDeletedRecordLosesItsEntry) {
  ASSERT_TRUE(Commit([](KeyValue& keys) { return Put(keys, "a", "1"); }).ok());
  EXPECT_EQ(Get("a"), "1");
  ASSERT_TRUE(
      Commit([](KeyValue& keys) { return Put(keys, "a", kLong); }).ok());
  EXPECT_FALSE(HasEntry("a"));
  EXPECT_EQ(Get("a"), kLong);
  ASSERT_TRUE(Commit([](KeyValue& keys) { return keys.Delete("a", 1); }).ok());
  EXPECT_FALSE(HasEntry("a"));
  EXPECT_EQ(Get("a"), "NOT_FOUND");
}

TEST_F(TreeTest, AnAbortLeavesTheFormerRecord) {
  ASSERT_TRUE(Commit([](KeyValue& keys) { return Put(keys, "a", "1"); }).ok());
  EXPECT_EQ(Get("a"), "1");
  Abort([](KeyValue& keys) { return Put(keys, "a", kLong); });
  EXPECT_EQ(Get("a"), "1");
  Abort([](KeyValue& keys) { return keys.Delete("a", 1); });
  EXPECT_EQ(Get("a"), "1");
}

TEST_F(TreeTest, DoesNotLearnWhatMayBeRolledBack) {
  Abort([](KeyValue& keys) {
    const absl::Status put = Put(keys, "a", "1");
    return put.ok() ? keys.Get("a").status() : put;
  });
  EXPECT_FALSE(HasEntry("a"));
  // Another key takes the space.
  ASSERT_TRUE(Commit([](KeyValue& keys) { return Put(keys, "b", "2"); }).ok());
  EXPECT_EQ(Get("a"), "NOT_FOUND");
  EXPECT_EQ(Get("b"), "2");
}

TEST_F(TreeTest, AKeyCanBeDeletedAndMadeAgainInOneTransaction) {
  ASSERT_TRUE(Commit([](KeyValue& keys) { return Put(keys, "a", "1"); }).ok());
  EXPECT_EQ(Get("a"), "1");
  const Body again = [](KeyValue& keys) {
    absl::Status done = keys.Delete("a", 1);
    if (done.ok() && !absl::IsNotFound(keys.Get("a").status())) {
      return absl::InternalError("it is still there");
    }
    if (done.ok()) done = Put(keys, "a", "2");
    return done;
  };
  Abort(again);
  EXPECT_EQ(Get("a"), "1");
  ASSERT_TRUE(Commit(again).ok());
  EXPECT_EQ(Get("a"), "2");
}

TEST_F(TreeTest, APutThatMovesARecordDetectsADamagedLeaf) {
  ASSERT_TRUE(Commit([](KeyValue& keys) { return Put(keys, "a", "1"); }).ok());
  EXPECT_EQ(Get("a"), "1");
  HeapReader reader(heap_.get());
  const auto leaf = Page::Read(reader, root_);
  ASSERT_TRUE(leaf.ok());
  const_cast<char&>(leaf->key(0)[0]) ^= 1;
  EXPECT_EQ(Get("a"), "1");  // by the directory
  const absl::Status moved =
      Commit([](KeyValue& keys) { return Put(keys, "a", kLong); });
  EXPECT_TRUE(absl::IsDataLoss(moved)) << moved;
}

TEST_F(TreeTest, APutThatMovesARecordDetectsALeafThatLeadsToAnother) {
  for (const char* key : {"a", "c"}) {
    ASSERT_TRUE(
        Commit([key](KeyValue& keys) { return Put(keys, key, "1"); }).ok());
    EXPECT_EQ(Get(key), "1");
  }
  HeapReader reader(heap_.get());
  const auto leaf = Page::Read(reader, root_);
  ASSERT_TRUE(leaf.ok());
  const_cast<ObjectId&>(leaf->slot(0).object) = leaf->object(1);
  const absl::Status moved =
      Commit([](KeyValue& keys) { return Put(keys, "a", kLong); });
  EXPECT_TRUE(absl::IsDataLoss(moved)) << moved;
}

// By a KeyValue without the directory.
TEST_F(TreeTest, ATreeThatIsChangedByOtherMeansNeedsANewDirectory) {
  ASSERT_TRUE(Commit([](KeyValue& keys) { return Put(keys, "a", "1"); }).ok());
  EXPECT_EQ(Get("a"), "1");
  const auto change = [this](const std::string& key, const std::string& value) {
    auto transaction = Begin();
    KeyValue keys(transaction.get(), root_);
    EXPECT_TRUE(Put(keys, key, value).ok());
    EXPECT_TRUE(transaction->Commit().ok());
    store_->Quiesce();
  };
  change("a", kLong);          // moves the record
  change("b", "2");            // may take its place
  EXPECT_TRUE(HasEntry("a"));  // a stale one
  directory_ = std::make_unique<Directory>(kDirectoryBytes);
  EXPECT_EQ(Get("a"), kLong);
  EXPECT_EQ(Get("b"), "2");
  EXPECT_TRUE(HasEntry("a"));
}

// --- Random changes against a model, with a directory that is far too small.

class FaultyTreeTest : public TreeTest {
 protected:
  // Whether all answers were right.
  bool RunMixture(int steps) {
    std::mt19937 random(1);
    std::map<std::string, std::string> model;
    for (int step = 0; step < steps; ++step) {
      std::map<std::string, std::string> next = model;
      bool right = true;
      const Body body = [&](KeyValue& keys) {
        for (int i = random() % 3; i >= 0; --i) {
          const std::string key = Key(random() % 12);
          const int kind = random() % 4;
          if (kind == 0) {
            const absl::Status gone = keys.Delete(key, step + 1);
            right &= gone.ok() == (next.erase(key) > 0);
            if (!gone.ok()) return absl::OkStatus();
          } else if (kind == 1) {
            const std::string value(1 + random() % 400,
                                    static_cast<char>('a' + step % 26));
            const absl::Status put = keys.Put(key, value, step + 1);
            right &= put.ok();
            if (!put.ok()) return absl::OkStatus();
            next[key] = value;
          } else {
            const auto entry = keys.Get(key);
            const auto expected = next.find(key);
            right &= entry.ok() == (expected != next.end()) &&
                     (!entry.ok() || entry->value == expected->second);
          }
        }
        return absl::OkStatus();
      };
      const bool commits = random() % 3 > 0;
      if (commits) {
        right &= Commit(body).ok();
        model = next;
      } else {
        Abort(body);
      }
      if (!right) return false;
    }
    return true;
  }
};

TEST_F(FaultyTreeTest, AMixtureHasTheTreesAnswers) {
  EXPECT_TRUE(RunMixture(3000));
}

TEST_F(FaultyTreeTest, AMixtureInOneBucketHasTheTreesAnswers) {
  directory_ = std::make_unique<Directory>(kBucketBytes);
  EXPECT_TRUE(RunMixture(1000));
}

TEST_F(FaultyTreeTest, PlantedEntriesOfChangedKeysAreDetected) {
  faults::PlantFault("directory-keeps-changed-keys");
  EXPECT_FALSE(RunMixture(3000));
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

TEST_F(FaultyTreeTest, PlantedEntriesOfUncommittedKeysAreDetected) {
  faults::PlantFault("directory-learns-what-may-be-rolled-back");
  EXPECT_FALSE(RunMixture(3000));
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

// --- Threads.

class ThreadsTest : public TreeTest {
 protected:
  static constexpr int kKeys = 6;

  // Each key's value names the key and a number that only grows. Some change
  // moves the record, some deletes it and makes it again, so that space changes
  // hands between keys. Returns whether each thread read, of each key, its own
  // value and no older one than before.
  bool ReadersSeeNoWrongValue(int rounds) {
    for (int key = 0; key < kKeys; ++key) {
      EXPECT_TRUE(Commit([&](KeyValue& keys) {
                    return keys.Put(Key(key), ValueOf(key, 1), 1);
                  }).ok());
    }
    std::atomic<bool> done{false};
    std::atomic<bool> right{true};
    std::thread reader([&] {
      std::vector<int> newest(kKeys);
      std::mt19937 random(7);
      while (!done) {
        const int key = random() % kKeys;
        int number = 0;
        const absl::Status read = Commit([&](KeyValue& keys) {
          const auto entry = keys.Get(Key(key));
          if (entry.ok()) number = NumberOf(key, entry->value);
          return entry.status();
        });
        if (absl::IsAborted(read)) continue;
        if (!read.ok() || number < newest[key]) right = false;
        newest[key] = number;
      }
    });
    std::mt19937 random(3);
    for (int round = 2; round < rounds; ++round) {
      const int key = random() % kKeys;
      const std::string value = ValueOf(key, round);
      const bool anew = random() % 2 == 0;
      while (absl::IsAborted(Commit([&](KeyValue& keys) {
        if (anew) {
          const absl::Status gone = keys.Delete(Key(key), round);
          if (!gone.ok()) return gone;
        }
        return keys.Put(Key(key), value, round);
      }))) {
      }
    }
    done = true;
    reader.join();
    return right;
  }

 private:
  static std::string ValueOf(int key, int number) {
    return absl::StrCat(key, "/", number, "/",
                        std::string(1 + number % 5 * 60, '.'));
  }
  // 0: not the key's.
  static int NumberOf(int key, absl::string_view value) {
    int of = -1;
    int number = 0;
    const std::string text(value.substr(0, 20));
    return std::sscanf(text.c_str(), "%d/%d/", &of, &number) == 2 && of == key
               ? number
               : 0;
  }
};

TEST_F(ThreadsTest, ReadersSeeTheKeysOwnAndNewestValue) {
  EXPECT_TRUE(ReadersSeeNoWrongValue(20000));
}

TEST_F(ThreadsTest, ReadersOfOneBucketSeeTheKeysOwnAndNewestValue) {
  directory_ = std::make_unique<Directory>(kBucketBytes);
  EXPECT_TRUE(ReadersSeeNoWrongValue(10000));
}

// A reader that has found an entry, and then locks a record that has changed
// hands meanwhile.
TEST_F(TreeTest, AStaleEntryIsNotTrusted) {
  const auto stale = [this] {
    EXPECT_TRUE(
        Commit([](KeyValue& keys) { return Put(keys, "a", "1"); }).ok());
    EXPECT_EQ(Get("a"), "1");
    const auto found = directory_->Find(directory_->HashOf("a"));
    EXPECT_TRUE(
        Commit([](KeyValue& keys) { return keys.Delete("a", 1); }).ok());
    return !directory_->StillValid(*found);
  };
  EXPECT_TRUE(stale());
  faults::PlantFault("directory-entries-always-valid");
  EXPECT_FALSE(stale());
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

}  // namespace
}  // namespace kamino::engine
