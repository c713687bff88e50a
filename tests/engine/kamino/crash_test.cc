// Transactions under crashes: whatever a power failure leaves, recovery finds
// every committed transaction whole and no other one, and the backup fit to
// abort with.
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/resource_error.h"
#include "gtest/gtest.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::engine {
namespace {

// Object to content; what a heap must hold.
using Model = std::map<ObjectId, std::string>;

// Few, and some of them large: a dynamic backup cannot hold them all.
constexpr size_t kObjects = 14;
constexpr uint32_t kSmall = 300;
constexpr uint32_t kLarge = 500 << 10;
constexpr size_t kLiveTransactions = 3;

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
  Workload(Scheme scheme, uint64_t seed)
      : scheme_(scheme), random_(seed), under_(scheme) {}

  void Run(int steps, int crash_percent) {
    const auto hook = [this, crash_percent] {
      if (Random(100) < static_cast<uint64_t>(crash_percent)) Crash();
    };
    under_.heap_region().SetDrainHook(hook);
    under_.backup_region().SetDrainHook(hook);
    for (int i = 0; i < steps; ++i) {
      Step();
      if (::testing::Test::HasFatalFailure()) break;
    }
    under_.heap_region().SetDrainHook(nullptr);
    under_.backup_region().SetDrainHook(nullptr);
    live_.clear();
  }

  int crashes() const { return crashes_; }
  int commits() const { return static_cast<int>(sequence_); }
  uint64_t evictions() const { return under_.store().stats().backup.evictions; }

 private:
  uint64_t Random(uint64_t bound) { return random_() % bound; }

  void Step() {
    if (Random(3) == 0) under_.store().ApplyBackup(Random(4));
    if (!held_.empty() && Random(3) == 0) {
      under_.store().ReleaseHold(*held_.begin());
      held_.erase(held_.begin());
    }
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
    options.sequence = ++sequence_;
    options.hold_locks = Random(3) == 0;
    if (options.hold_locks) held_.insert(options.sequence);
    in_doubt_ = live;
    ASSERT_TRUE(live->transaction->Commit(options).ok());
    in_doubt_ = nullptr;
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
    auto bytes = live->transaction->Write(id, offset, length);
    if (!bytes.ok()) return bytes.status();
    const char c = static_cast<char>('A' + Random(26));
    std::memset(*bytes, c, length);
    std::string changed = text;
    changed.replace(offset, length, length, c);
    live->changes[id] = std::move(changed);
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
    StoreUnderTest after(scheme_, under_.heap_region().CrashImage(random_()),
                         under_.backup_region().CrashImage(random_()));
    // Recovery itself may be cut off.
    SimRegion::Image heap;
    SimRegion::Image backup;
    const uint64_t cut = Random(8);
    const auto snapshot = [&] {
      if (after.heap_region().drains() + after.backup_region().drains() < cut ||
          !heap.empty()) {
        return;
      }
      heap = after.heap_region().CrashImage(cut);
      backup = after.backup_region().CrashImage(cut);
    };
    after.heap_region().SetDrainHook(snapshot);
    after.backup_region().SetDrainHook(snapshot);
    const absl::Status recovered = after.Recover();
    ASSERT_TRUE(recovered.ok()) << recovered;
    after.heap_region().SetDrainHook(nullptr);
    after.backup_region().SetDrainHook(nullptr);
    Check(after);
    if (heap.empty()) return;
    StoreUnderTest again(scheme_, heap, backup);
    const absl::Status repeated = again.Recover();
    ASSERT_TRUE(repeated.ok()) << repeated;
    Check(again);
  }

  void Check(StoreUnderTest& after) {
    Model now = committed_;
    if (in_doubt_ != nullptr && !Holds(after, now)) in_doubt_->ApplyTo(&now);
    ASSERT_TRUE(Holds(after, now)) << "crash " << crashes_;
    ASSERT_EQ(after.heap().stats().objects, now.size() + 1);
    // The backup is right: aborting takes everything back.
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

  const Scheme scheme_;
  std::mt19937_64 random_;
  mutable StoreUnderTest under_;
  std::vector<Live> live_;
  const Live* in_doubt_ = nullptr;  // its Commit has not returned
  Model committed_;
  std::set<uint64_t> held_;
  uint64_t sequence_ = 0;
  int crashes_ = 0;
};

class CrashTest : public ::testing::TestWithParam<Scheme> {};

TEST_P(CrashTest, RandomTransactionsSurviveRandomCrashes) {
  int crashes = 0;
  int commits = 0;
  uint64_t evictions = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Workload workload(GetParam(), seed);
    workload.Run(/*steps=*/300, /*crash_percent=*/6);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    crashes += workload.crashes();
    commits += workload.commits();
    evictions += workload.evictions();
  }
  // The workload is one that matters.
  EXPECT_GT(crashes, 50);
  EXPECT_GT(commits, 100);
  if (!IsSimple(GetParam())) {
    EXPECT_GT(evictions, 20u);
  }
}

TEST_P(CrashTest, LastSequenceIsThatOfTheLastMark) {
  StoreUnderTest under(GetParam());
  const ObjectId id = under.Make("first");
  CommitOptions options;
  options.sequence = 42;
  auto transaction = under.Begin();
  ASSERT_TRUE(transaction->Write(id, 0, 5).ok());
  ASSERT_TRUE(transaction->Commit(options).ok());
  StoreUnderTest after(GetParam(), under.heap_region().CrashImage(1),
                       under.backup_region().CrashImage(1));
  ASSERT_TRUE(after.Recover().ok());
  EXPECT_EQ(after.store().last_sequence(), 42u);
}

INSTANTIATE_TEST_SUITE_P(Schemes, CrashTest, ::testing::ValuesIn(kAllSchemes),
                         SchemeName);

}  // namespace
}  // namespace kamino::engine
