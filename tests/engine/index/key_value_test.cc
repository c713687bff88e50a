#include "engine/index/key_value.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/heap/heap_reader.h"
#include "engine/index/page.h"
#include "engine/kamino/replica_transaction.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::engine {
namespace {

using ::testing::ElementsAre;

struct Value {
  std::string text;
  uint64_t version = 0;

  friend bool operator==(const Value& a, const Value& b) {
    return a.text == b.text && a.version == b.version;
  }
};
using Model = std::map<std::string, Value>;

// A tree on a head's heap, and the same on a replica's: every committed
// transaction is executed there again from its write set, so that any
// non-deterministic call shows as a divergence.
class KeyValueTest : public ::testing::Test {
 protected:
  KeyValueTest() : head_(Scheme::kSimple), replica_region_(kTestHeapBytes) {
    replica_ = *Heap::Create(&replica_region_, "test");
    absl::Status made = Commit([this](Transaction& transaction) {
      auto root = BTree::Create(transaction);
      if (root.ok()) root_ = *root;
      return root.status();
    });
    EXPECT_TRUE(made.ok()) << made;
  }

  // Runs `body` at the head and, as it committed, at the replica.
  template <typename Body>
  absl::Status Commit(Body body) {
    auto transaction = head_.Begin();
    absl::Status done = body(*transaction);
    if (!done.ok()) {
      EXPECT_TRUE(transaction->Abort().ok());
      return done;
    }
    const WriteSet write_set = transaction->write_set();
    AfterImage image;
    CommitOptions options;
    options.image = &image;
    EXPECT_TRUE(transaction->Commit(options).ok());
    head_.Propagate();
    TrialTransaction trial(replica_.get(), write_set);
    ReplicaTransaction replay(replica_.get(), write_set);
    Replay(body, image, &trial);  // without effect, so the next does the same
    Replay(body, image, &replay);
    return absl::OkStatus();
  }

  // Expects the head's image.
  template <typename Body>
  void Replay(Body body, const AfterImage& image,
              ReplicaTransaction* execution) {
    absl::Status replayed = body(*execution);
    EXPECT_TRUE(replayed.ok()) << replayed;
    replayed = static_cast<Transaction*>(execution)->Commit();
    EXPECT_TRUE(replayed.ok()) << replayed;
    EXPECT_EQ(execution->HashImage(image.filled), image.hash);
    EXPECT_NE(image.hash, 0u);
  }

  absl::Status Put(const std::string& key, const std::string& value) {
    ++version_;
    absl::Status done = Commit([&](Transaction& transaction) {
      return KeyValue(&transaction, root_).Put(key, value, version_);
    });
    if (done.ok()) model_[key] = {value, version_};
    return done;
  }

  absl::Status Delete(const std::string& key) {
    ++version_;
    absl::Status done = Commit([&](Transaction& transaction) {
      return KeyValue(&transaction, root_).Delete(key, version_);
    });
    if (done.ok()) model_.erase(key);
    return done;
  }

  static Model Read(Heap* heap, ObjectId root, const std::string& start = "",
                    const std::string& end = "", uint64_t limit = 0) {
    HeapReader reader(heap);
    Model found;
    std::string last;
    absl::Status scanned =
        KeyValueReader(&reader, root)
            .Scan(start, end, limit,
                  [&](absl::string_view key, const auto& entry) {
                    EXPECT_LT(last, key);
                    last = std::string(key);
                    found[last] = {std::string(entry.value), entry.version};
                    return true;
                  });
    EXPECT_TRUE(scanned.ok()) << scanned;
    return found;
  }

  void CheckAll() {
    ASSERT_EQ(Read(&head_.heap(), root_), model_);
    ASSERT_EQ(Read(replica_.get(), root_), model_);
  }

  bool UnchangedSince(const std::string& start, const std::string& end,
                      uint64_t version) {
    HeapReader reader(&head_.heap());
    return *KeyValueReader(&reader, root_)
                .RangeUnchangedSince(start, end, version);
  }

  StoreUnderTest head_;
  SimRegion replica_region_;
  std::unique_ptr<Heap> replica_;
  ObjectId root_ = kNullObject;
  uint64_t version_ = 0;
  Model model_;
};

TEST_F(KeyValueTest, GetPutPatchDelete) {
  ASSERT_TRUE(Put("key", "value").ok());
  HeapReader reader(&head_.heap());
  KeyValueReader objects(&reader, root_);
  EXPECT_EQ(objects.Get("key")->value, "value");
  EXPECT_EQ(objects.Get("key")->version, 1u);
  EXPECT_TRUE(absl::IsNotFound(objects.Get("ke").status()));
  ASSERT_TRUE(Commit([&](Transaction& transaction) {
                return KeyValue(&transaction, root_).Patch("key", 1, "AL", 2);
              }).ok());
  EXPECT_EQ(objects.Get("key")->value, "vALue");
  EXPECT_EQ(objects.Get("key")->version, 2u);
  ASSERT_TRUE(Delete("key").ok());
  EXPECT_TRUE(absl::IsNotFound(objects.Get("key").status()));
}

// A procedure may pass on a view of its input: bytes of the heap, which are
// being overwritten.
TEST_F(KeyValueTest, AValueMayBeBuiltFromItself) {
  for (const size_t size : {50, 4096, 900000}) {
    std::string value(size, ' ');
    for (size_t i = 0; i < size; ++i) value[i] = static_cast<char>(i * 31 >> 3);
    ASSERT_TRUE(Put("key", value).ok());
    const auto put_part = [&](size_t from, size_t length) {
      ++version_;
      ASSERT_TRUE(Commit([&](Transaction& transaction) {
                    KeyValue objects(&transaction, root_);
                    return objects.Put(
                        "key", objects.Get("key")->value.substr(from, length),
                        version_);
                  }).ok());
      value = value.substr(from, length);
      model_["key"] = {value, version_};
    };
    const auto patch_part = [&](size_t to, size_t from, size_t length) {
      ++version_;
      ASSERT_TRUE(Commit([&](Transaction& transaction) {
                    KeyValue objects(&transaction, root_);
                    return objects.Patch(
                        "key", to,
                        objects.Get("key")->value.substr(from, length),
                        version_);
                  }).ok());
      value.replace(to, length, std::string(value, from, length));
      model_["key"] = {value, version_};
    };
    put_part(0, size);
    put_part(3, size - 10);
    patch_part(0, size / 4, size / 2);
    patch_part(size / 4, 0, size / 2);
    CheckAll();
  }
}

TEST_F(KeyValueTest, BadInputChangesAndDeclaresNothing) {
  ASSERT_TRUE(Put("key", "value").ok());
  auto transaction = head_.Begin();
  KeyValue objects(transaction.get(), root_);
  EXPECT_TRUE(absl::IsInvalidArgument(objects.Put("", "x", 9)));
  EXPECT_TRUE(
      absl::IsInvalidArgument(objects.Put(std::string(1025, 'k'), "x", 9)));
  EXPECT_TRUE(absl::IsInvalidArgument(
      objects.Put("key", std::string(kMaxValueBytes + 1, 'v'), 9)));
  EXPECT_TRUE(absl::IsOutOfRange(objects.Patch("key", 4, "xy", 9)));
  EXPECT_TRUE(absl::IsOutOfRange(objects.Patch("key", ~uint64_t{0}, "x", 9)));
  EXPECT_TRUE(absl::IsNotFound(objects.Patch("other", 0, "x", 9)));
  EXPECT_TRUE(absl::IsNotFound(objects.Delete("other", 9)));
  EXPECT_TRUE(transaction->write_set().empty());
}

TEST_F(KeyValueTest, AnUpdateInPlaceTouchesOnlyItsRecord) {
  ASSERT_TRUE(Put("a", "12345").ok());
  ASSERT_TRUE(Put("b", "12345").ok());
  auto one = head_.Begin();
  auto two = head_.Begin();
  EXPECT_TRUE(KeyValue(one.get(), root_).Put("a", "54321", 9).ok());
  EXPECT_TRUE(KeyValue(two.get(), root_).Put("b", "54321", 9).ok());
  EXPECT_EQ(one->write_set().size(), 1u);
}

TEST_F(KeyValueTest, StoresTheLargestKeysAndValues) {
  const std::string key(kMaxKeyBytes, 'k');
  const std::string value(kMaxValueBytes, 'v');
  ASSERT_TRUE(Put(key, value).ok());
  ASSERT_TRUE(Put(key, "small").ok());
  ASSERT_TRUE(Put(key, value).ok());
  CheckAll();
}

TEST_F(KeyValueTest, ScansRangesWithLimits) {
  for (const char* key : {"b", "a", "d", "c"}) ASSERT_TRUE(Put(key, key).ok());
  const auto keys = [](const Model& model) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : model) keys.push_back(key);
    return keys;
  };
  Heap* heap = &head_.heap();
  EXPECT_THAT(keys(Read(heap, root_, "b", "d")), ElementsAre("b", "c"));
  EXPECT_THAT(keys(Read(heap, root_, "aa", "")), ElementsAre("b", "c", "d"));
  EXPECT_THAT(keys(Read(heap, root_, "", "", 2)), ElementsAre("a", "b"));
  EXPECT_THAT(keys(Read(heap, root_, "d", "b")), ElementsAre());
}

TEST_F(KeyValueTest, RangeUnchangedSeesEveryKindOfChange) {
  ASSERT_TRUE(Put("b", "1").ok());
  ASSERT_TRUE(Put("c", "1").ok());
  uint64_t before = version_;
  EXPECT_TRUE(UnchangedSince("a", "d", before));
  ASSERT_TRUE(Put("bb", "1").ok());  // new
  EXPECT_FALSE(UnchangedSince("a", "d", before));
  EXPECT_TRUE(UnchangedSince("a", "d", version_));
  before = version_;
  ASSERT_TRUE(Put("b", "2").ok());  // in place
  EXPECT_FALSE(UnchangedSince("a", "d", before));
  EXPECT_TRUE(UnchangedSince("c", "d", before));
  before = version_;
  ASSERT_TRUE(Delete("bb").ok());
  EXPECT_FALSE(UnchangedSince("a", "d", before));
}

// Keys of many shapes: common prefixes, zeros, 0xff, short and long. Pages of
// keys with a common beginning leave it out when they compare.
TEST_F(KeyValueTest, KeysWithAndWithoutACommonPrefixAreFound) {
  const std::string alike = "account/of/user/";
  std::vector<int> numbers(900);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937(7));
  for (int number : numbers) {
    ASSERT_TRUE(Put(absl::StrCat(alike, number), "v").ok());
  }
  CheckAll();
  const auto shared = [this](ObjectId page) {
    index_format::PageHeader header;
    std::memcpy(&header, head_.heap().Payload(page)->data(), sizeof(header));
    return header.shared;
  };
  HeapReader reader(&head_.heap());
  const Page root = *Page::Read(reader, root_);
  ASSERT_FALSE(root.leaf());
  ASSERT_GT(root.count(), 8);
  EXPECT_GE(shared(root_), alike.size());
  for (int i = 0; i < root.count(); ++i) {
    EXPECT_GE(shared(root.object(i)), alike.size());
  }
  const auto check_from = [this](const std::string& start) {
    EXPECT_EQ(Read(&head_.heap(), root_, start),
              Model(model_.lower_bound(start), model_.end()))
        << start;
  };
  const std::vector<std::string> others = {
      "a",
      "account/of/user",
      alike,
      "account/p",
      "account/of/usez/",
      absl::StrCat(alike, "20", std::string(1, 0)),
      "z",
      "account/of/user/:"};
  for (const std::string& key : others) {
    EXPECT_TRUE(
        absl::IsNotFound(KeyValueReader(&reader, root_).Get(key).status()));
    check_from(key);
  }
  for (const std::string& key : others) {
    ASSERT_TRUE(Put(key, "other").ok());
    CheckAll();
    for (const std::string& start : others) check_from(start);
  }
  for (const std::string& key : others) {
    ASSERT_TRUE(Delete(key).ok());
    CheckAll();
    check_from(key);
  }
}

std::string RandomKey(std::mt19937& random) {
  const int kind = random() % 4;
  if (kind == 0) return std::string(1 + random() % 3, "\0a\xff"[random() % 3]);
  std::string key = kind == 1 ? "bank/" : std::string(random() % 700, 'p');
  for (int i = 1 + random() % 4; i > 0; --i) {
    key.push_back(static_cast<char>("0123\0\xff"[random() % 6]));
  }
  return key;
}

class RandomTest : public KeyValueTest,
                   public ::testing::WithParamInterface<int> {};

TEST_P(RandomTest, AgreesWithAModel) {
  std::mt19937 random(GetParam());
  // Since which version each key of the model's past last changed.
  std::map<std::string, uint64_t> changed;
  for (int i = 0; i < 1500; ++i) {
    // Grows first, then shrinks to nothing.
    const bool growing = i < 900;
    std::string key = RandomKey(random);
    if (!model_.empty() && random() % 10 < (growing ? 3 : 9)) {
      key = std::next(model_.begin(), random() % model_.size())->first;
    }
    if (random() % 10 < (growing ? 8 : 1)) {
      const size_t size = random() % (random() % 20 == 0 ? 5000 : 60);
      ASSERT_TRUE(Put(key, std::string(size, 'a' + random() % 26)).ok());
      changed[key] = version_;
    } else {
      const bool there = model_.count(key) > 0;
      absl::Status done = Delete(key);
      ASSERT_EQ(done.ok(), there) << done;
      if (there) changed[key] = version_;
    }
    std::string start = RandomKey(random);
    std::string end = RandomKey(random);
    if (end < start) std::swap(start, end);
    const uint64_t since = version_ - random() % 50;
    if (UnchangedSince(start, end, since)) {
      for (auto it = changed.lower_bound(start);
           it != changed.end() && it->first < end; ++it) {
        ASSERT_LE(it->second, since) << "a change was missed";
      }
    }
    if (i % 100 == 0) CheckAll();
  }
  CheckAll();
  while (!model_.empty()) ASSERT_TRUE(Delete(model_.begin()->first).ok());
  CheckAll();
  // The heap's root object and the tree's only page.
  EXPECT_EQ(head_.heap().stats().objects, 2u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTest, ::testing::Range(1, 5));

class LongKeyTest : public KeyValueTest,
                    public ::testing::WithParamInterface<std::string> {};

int Depth(Heap* heap, ObjectId root) {
  HeapReader reader(heap);
  int depth = 1;
  for (;; ++depth) {
    auto page = *Page::Read(reader, root);
    if (page.leaf()) return depth;
    root = page.object(0);
  }
}

TEST_P(LongKeyTest, DepthIsLogarithmic) {
  constexpr int kKeys = 600;
  std::vector<int> order(kKeys);
  std::iota(order.begin(), order.end(), 0);
  if (GetParam() == "Descending") std::reverse(order.begin(), order.end());
  std::mt19937 random(1);
  if (GetParam() == "Random") {
    std::shuffle(order.begin(), order.end(), random);
  }
  const auto key = [](int i) {
    // Differ only at their ends, so that no bound is short.
    return absl::StrCat(std::string(kMaxKeyBytes - 4, 'k'), 1000 + i);
  };
  for (int i : order) ASSERT_TRUE(Put(key(i), "v").ok());
  CheckAll();
  // At least two children to a page: 2^10 > 600.
  EXPECT_LE(Depth(&head_.heap(), root_), 11);
  for (int i : order) ASSERT_TRUE(Delete(key(i)).ok());
  CheckAll();
  EXPECT_EQ(head_.heap().stats().objects, 2u);
}

INSTANTIATE_TEST_SUITE_P(Orders, LongKeyTest,
                         ::testing::Values("Ascending", "Descending", "Random"),
                         [](const auto& info) { return info.param; });

// Changes to pages with wrong numbers: an error, or a change within the page.
// The sanitizers notice accesses outside.
TEST_F(KeyValueTest, ChangesOfADamagedPageStayWithinIt) {
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(Put("k" + std::to_string(i), "v").ok());
  }
  auto root = *head_.heap().Payload(root_);
  const std::vector<std::byte> sound(root.begin(), root.end());
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::copy(sound.begin(), sound.end(), root.begin());
    for (int n = 0; n < 3; ++n) {
      // Mostly the header's numbers, and slots' lengths and offsets.
      const size_t at = random() % 2 ? random() % 16 : 24 + random() % 960;
      root[at] = static_cast<std::byte>(random());
    }
    auto transaction = head_.Begin();
    KeyValue objects(transaction.get(), root_);
    bool ok = true;
    for (int n = 0; ok && n < 12; ++n) {
      const std::string key =
          std::string(random() % 900, 'k') + std::to_string(random() % 60);
      ok = objects.Put(key, "w", 99).ok() &&
           (random() % 2 || objects.Delete(key, 99).ok());
    }
    refused += !ok;
    // An abort would undo the damage as well.
    ASSERT_TRUE(transaction->Abort().ok());
  }
  EXPECT_GT(refused, 100);
  std::copy(sound.begin(), sound.end(), root.begin());
  CheckAll();
}

TEST_F(KeyValueTest, DamageIsAnErrorNotACrash) {
  for (int i = 0; i < 500; ++i)
    ASSERT_TRUE(Put("k" + std::to_string(i), "v").ok());
  std::mt19937 random(1);
  const SimRegion::Image image = head_.heap_region().CrashImage(0);
  for (int i = 0; i < 300; ++i) {
    SimRegion damaged(image);
    auto heap = *Heap::Open(&damaged);
    auto root = *heap->Payload(root_);
    for (int n = 0; n < 8; ++n) {
      root[random() % 200] = static_cast<std::byte>(random());
    }
    HeapReader reader(heap.get());
    KeyValueReader objects(&reader, root_);
    objects.Get("k17").status().IgnoreError();
    objects.Scan("", "", 0, [](absl::string_view, const auto&) { return true; })
        .IgnoreError();
  }
  // A page that points to itself must not cause a loop.
  auto root = *head_.heap().Payload(root_);
  std::memcpy(root.data() + 24 + 8, &root_, sizeof(root_));
  HeapReader reader(&head_.heap());
  EXPECT_TRUE(
      absl::IsDataLoss(KeyValueReader(&reader, root_).Get("a").status()));
}

// A difference of one bit is enough, also behind the bytes that a new object
// was given.
TEST_F(KeyValueTest, ADifferentImageHasADifferentHash) {
  ASSERT_TRUE(Put("a", "1").ok());
  auto transaction = head_.Begin();
  ASSERT_TRUE(KeyValue(transaction.get(), root_).Put("b", "12345", 2).ok());
  const WriteSet write_set = transaction->write_set();
  AfterImage image;
  CommitOptions options;
  options.image = &image;
  ASSERT_TRUE(transaction->Commit(options).ok());
  ReplicaTransaction replay(replica_.get(), write_set);
  ASSERT_TRUE(KeyValue(&replay, root_).Put("b", "12345", 2).ok());
  ASSERT_TRUE(static_cast<Transaction&>(replay).Commit().ok());
  ASSERT_EQ(replay.HashImage(image.filled), image.hash);
  int looked_at = 0;
  for (const Intent& intent : write_set) {
    if (intent.kind == IntentKind::kFree) continue;
    const absl::Span<std::byte> payload = replica_->BlockPayload(intent.object);
    for (size_t i = 0; i < intent.length; ++i) {
      std::byte& byte = payload[intent.offset + i];
      byte ^= std::byte{4};
      EXPECT_NE(replay.HashImage(image.filled), image.hash) << i;
      byte ^= std::byte{4};
      ++looked_at;
    }
  }
  EXPECT_GT(looked_at, 50);
  EXPECT_EQ(replay.HashImage(image.filled), image.hash);
}

TEST_F(KeyValueTest, AReplicaStopsOnADivergence) {
  ASSERT_TRUE(Put("a", "1").ok());
  auto transaction = head_.Begin();
  ASSERT_TRUE(KeyValue(transaction.get(), root_).Put("b", "1", 2).ok());
  const WriteSet write_set = transaction->write_set();
  ASSERT_TRUE(transaction->Commit().ok());
  {
    ReplicaTransaction replay(replica_.get(), write_set);
    EXPECT_TRUE(absl::IsDataLoss(KeyValue(&replay, root_).Put("a", "2", 2)));
  }
  ReplicaTransaction replay(replica_.get(), write_set);
  EXPECT_TRUE(absl::IsDataLoss(replay.Commit()));  // did too little
}

}  // namespace
}  // namespace kamino::engine
