// The rivals that are atomic, on kamino's heap, under crashes: whatever a power
// failure leaves, recovery finds every committed transaction whole and no other
// one. (libpmemobj has its own tests.)
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "engine/resource_error.h"
#include "engine/rivals/heap_store.h"
#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

// Object to content; what a heap must hold.
using Model = std::map<ObjectId, std::string>;

constexpr size_t kObjects = 12;
constexpr uint32_t kSmall = 300;
// Over what a slot of the log holds here, so that logs grow into the heap.
constexpr uint32_t kLarge = 150 << 10;
constexpr size_t kLiveTransactions = 3;

class StoreUnderTest {
 public:
  explicit StoreUnderTest(HeapScheme scheme)
      : scheme_(scheme), region_(Heap::kMinBytes) {
    heap_ = *Heap::Create(&region_, HeapSchemeName(scheme));
    store_ = *HeapStore::Open(scheme, heap_.get());
  }

  // What a crash left; to be recovered.
  StoreUnderTest(HeapScheme scheme, const SimRegion::Image& image)
      : scheme_(scheme), region_(image) {}

  absl::Status Recover() {
    auto heap = Heap::Open(&region_);
    if (!heap.ok()) return heap.status();
    heap_ = std::move(*heap);
    auto store = HeapStore::Open(scheme_, heap_.get());
    if (!store.ok()) return store.status();
    store_ = std::move(*store);
    return absl::OkStatus();
  }

  std::unique_ptr<Transaction> Begin() {
    return store_->Begin(absl::ZeroDuration());
  }
  Heap& heap() { return *heap_; }
  SimRegion& region() { return region_; }

 private:
  const HeapScheme scheme_;
  SimRegion region_;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<HeapStore> store_;
};

// A transaction under way and what it is to change; nothing: freed.
struct Live {
  std::unique_ptr<Transaction> transaction;
  std::map<ObjectId, std::optional<std::string>> changes;

  void ApplyTo(Model* model) const {
    for (const auto& [id, text] : changes) {
      if (text.has_value()) {
        (*model)[id] = *text;
      } else {
        model->erase(id);
      }
    }
  }
};

class Workload {
 public:
  Workload(HeapScheme scheme, uint64_t seed)
      : scheme_(scheme), random_(seed), under_(scheme) {}

  void Run(int steps, int crash_percent) {
    under_.region().SetDrainHook([this, crash_percent] {
      if (Random(100) < static_cast<uint64_t>(crash_percent)) Crash();
    });
    for (int i = 0; i < steps; ++i) {
      Step();
      if (::testing::Test::HasFatalFailure()) break;
    }
    under_.region().SetDrainHook(nullptr);
    live_.clear();
  }

  int crashes() const { return crashes_; }
  int commits() const { return commits_; }
  int in_commit() const { return in_commit_; }

 private:
  uint64_t Random(uint64_t bound) { return random_() % bound; }

  void Step() {
    if (live_.size() < kLiveTransactions) {
      live_.push_back({under_.Begin(), {}});
    }
    const size_t index = Random(live_.size());
    Live& live = live_[index];
    if (Random(4) != 0) {
      const absl::Status changed = Change(&live);
      if (changed.ok()) return;
      ASSERT_TRUE(live.transaction->conflict().has_value() ||
                  ResourceOf(changed).has_value())
          << changed;
      ASSERT_TRUE(live.transaction->Abort().ok());
    } else if (Random(4) == 0) {
      ASSERT_TRUE(live.transaction->Abort().ok());
    } else {
      Commit(&live);
    }
    live_.erase(live_.begin() + index);
  }

  void Commit(Live* live) {
    CommitOptions options;
    const bool refuse = Random(8) == 0;
    const auto before_mark = [refuse](const WriteSet&) {
      return refuse ? absl::CancelledError("refused") : absl::OkStatus();
    };
    if (refuse || Random(2) == 0) options.before_mark.emplace(before_mark);
    if (!refuse) in_doubt_ = live;
    ASSERT_EQ(live->transaction->Commit(options).ok(), !refuse);
    in_doubt_ = nullptr;
    if (refuse) return;
    ++commits_;
    live->ApplyTo(&committed_);
  }

  absl::Status Change(Live* live) {
    Model seen = committed_;
    live->ApplyTo(&seen);
    const uint64_t kind = Random(10);
    if (seen.size() < 5 || (seen.size() < kObjects && kind < 3)) {
      return Alloc(live, Random(2) == 0 ? 1 + Random(kSmall)
                                        : kLarge / 2 + Random(kLarge / 2));
    }
    const auto [id, text] = *std::next(seen.begin(), Random(seen.size()));
    if (kind < 4) {
      absl::Status freed = live->transaction->Free(id);
      if (freed.ok()) live->changes[id] = std::nullopt;
      return freed;
    }
    const uint32_t offset = Random(text.size());
    const uint32_t length = 1 + Random(text.size() - offset);
    const std::string news(length, static_cast<char>('A' + Random(26)));
    if (absl::Status put = Put(live, id, offset, news); !put.ok()) return put;
    std::string changed = text;
    changed.replace(offset, length, news);
    live->changes[id] = std::move(changed);
    return absl::OkStatus();
  }

  absl::Status Put(Live* live, ObjectId id, uint32_t offset,
                   const std::string& text) {
    if (Random(2) == 0) {
      return live->transaction->Overwrite(
          id, offset,
          {reinterpret_cast<const std::byte*>(text.data()), text.size()});
    }
    auto bytes = live->transaction->Write(id, offset, text.size());
    if (!bytes.ok()) return bytes.status();
    std::memcpy(*bytes, text.data(), text.size());
    return absl::OkStatus();
  }

  absl::Status Alloc(Live* live, uint32_t size) {
    auto id = live->transaction->Alloc(size);
    if (!id.ok()) return id.status();
    const std::string text(size, static_cast<char>('a' + Random(26)));
    std::memcpy(*live->transaction->Write(*id, 0, size), text.data(), size);
    live->changes[*id] = text;
    return absl::OkStatus();
  }

  void Crash() {
    ++crashes_;
    if (in_doubt_ != nullptr) ++in_commit_;
    StoreUnderTest after(scheme_, under_.region().CrashImage(random_()));
    // Recovery itself may be cut off.
    SimRegion::Image image;
    const uint64_t cut = 1 + Random(2);
    after.region().SetDrainHook([&] {
      if (after.region().drains() != cut) return;
      image = after.region().CrashImage(random_());
    });
    const absl::Status recovered = after.Recover();
    ASSERT_TRUE(recovered.ok()) << recovered;
    after.region().SetDrainHook(nullptr);
    Check(after);
    if (image.empty()) return;
    StoreUnderTest again(scheme_, image);
    const absl::Status repeated = again.Recover();
    ASSERT_TRUE(repeated.ok()) << repeated;
    Check(again);
  }

  void Check(StoreUnderTest& after) {
    Model now = committed_;
    if (in_doubt_ != nullptr && !Holds(after, now)) in_doubt_->ApplyTo(&now);
    ASSERT_TRUE(Holds(after, now)) << "crash " << crashes_;
    ASSERT_EQ(after.heap().stats().objects, now.size() + 1);
    // The log is fit for use.
    for (const auto& [id, text] : now) {
      auto transaction = after.Begin();
      auto bytes = transaction->Write(id, 0, text.size());
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      std::memset(*bytes, '#', text.size());
      ASSERT_TRUE(transaction->Abort().ok());
    }
    ASSERT_TRUE(Holds(after, now)) << "crash " << crashes_;
  }

  // Exactly `model`, of all objects that this workload may have touched.
  bool Holds(StoreUnderTest& after, const Model& model) const {
    Model known = committed_;
    for (const Live& live : live_) live.ApplyTo(&known);
    known.insert(committed_.begin(), committed_.end());
    for (const auto& [id, unused] : known) {
      const auto payload = after.heap().Payload(id);
      const auto expected = model.find(id);
      if (payload.ok() != (expected != model.end())) return false;
      if (!payload.ok()) continue;
      const std::string& text = expected->second;
      if (payload->size() < text.size() ||
          std::memcmp(payload->data(), text.data(), text.size()) != 0) {
        return false;
      }
    }
    return true;
  }

  const HeapScheme scheme_;
  std::mt19937_64 random_;
  mutable StoreUnderTest under_;
  std::vector<Live> live_;
  const Live* in_doubt_ = nullptr;  // its Commit has not returned
  Model committed_;
  int commits_ = 0;
  int crashes_ = 0;
  int in_commit_ = 0;
};

class CrashTest : public ::testing::TestWithParam<HeapScheme> {};

TEST_P(CrashTest, RandomTransactionsSurviveRandomCrashes) {
  int crashes = 0;
  int commits = 0;
  int in_commit = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Workload workload(GetParam(), seed);
    workload.Run(/*steps=*/400, /*crash_percent=*/15);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    crashes += workload.crashes();
    commits += workload.commits();
    in_commit += workload.in_commit();
  }
  // The workload is one that matters.
  EXPECT_GT(crashes, 100);
  EXPECT_GT(commits, 100);
  EXPECT_GT(in_commit, 50);
}

// All of it or none, wherever it is cut off: a new object, and a write that
// names it.
TEST_P(CrashTest, EveryDrainOfOneTransaction) {
  StoreUnderTest under(GetParam());
  const ObjectId root = under.heap().root();
  const std::string text(1000, 't');
  int whole = 0;
  int none = 0;
  const auto check = [&](uint64_t seed) {
    StoreUnderTest after(GetParam(), under.region().CrashImage(seed));
    ASSERT_TRUE(after.Recover().ok());
    ObjectId named;
    std::memcpy(&named, after.heap().Payload(root)->data(), sizeof(named));
    ASSERT_EQ(after.heap().stats().objects, named == kNullObject ? 1u : 2u);
    ++(named == kNullObject ? none : whole);
    if (named == kNullObject) return;
    const auto payload = after.heap().Payload(named);
    ASSERT_TRUE(payload.ok());
    ASSERT_EQ(std::memcmp(payload->data(), text.data(), text.size()), 0);
  };
  auto transaction = under.Begin();
  under.region().SetDrainHook([&] {
    for (uint64_t seed = 1; seed <= 20; ++seed) check(seed);
  });
  const ObjectId made = *transaction->Alloc(text.size());
  std::memcpy(*transaction->Write(made, 0, text.size()), text.data(),
              text.size());
  std::memcpy(*transaction->Write(root, 0, sizeof(made)), &made, sizeof(made));
  ASSERT_TRUE(transaction->Commit().ok());
  under.region().SetDrainHook(nullptr);
  EXPECT_GT(none, 5);
  EXPECT_GT(whole, 5);
}

TEST_P(CrashTest, TheOtherSchemesHeapIsRefused) {
  StoreUnderTest under(GetParam());
  const HeapScheme other = GetParam() == HeapScheme::kUndo
                               ? HeapScheme::kCopyOnWrite
                               : HeapScheme::kUndo;
  EXPECT_TRUE(absl::IsFailedPrecondition(
      HeapStore::Open(other, &under.heap()).status()));
}

INSTANTIATE_TEST_SUITE_P(Schemes, CrashTest,
                         ::testing::Values(HeapScheme::kUndo,
                                           HeapScheme::kCopyOnWrite),
                         [](const ::testing::TestParamInfo<HeapScheme>& info) {
                           return info.param == HeapScheme::kUndo
                                      ? "UndoOwn"
                                      : "CopyOnWrite";
                         });

}  // namespace
}  // namespace kamino::engine
