// Transactions under crashes: whatever a power failure leaves, recovery finds
// every committed transaction whole and no other one, and the backup fit to
// abort with.
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/kamino/fixture.h"

namespace kamino::engine {
namespace {

// Object to content; what a heap must hold.
using Model = std::map<ObjectId, std::string>;

Model Contents(Heap& heap, const Model& known) {
  Model found;
  for (const auto& [id, text] : known) {
    auto payload = heap.Payload(id);
    if (!payload.ok()) continue;
    found[id] = std::string(reinterpret_cast<const char*>(payload->data()),
                            text.size());
  }
  return found;
}

class Workload {
 public:
  Workload(Scheme scheme, uint64_t seed)
      : scheme_(scheme), random_(seed), under_(scheme) {}

  void Run(int transactions, int crash_percent) {
    under_.heap_region().SetDrainHook([this, crash_percent] {
      if (static_cast<int>(random_() % 100) < crash_percent) Crash();
    });
    under_.backup_region().SetDrainHook([this, crash_percent] {
      if (static_cast<int>(random_() % 100) < crash_percent) Crash();
    });
    for (int i = 0; i < transactions; ++i) {
      Step();
      if (::testing::Test::HasFatalFailure()) return;
      if (random_() % 3 == 0) under_.store().ApplyBackup(random_() % 4);
    }
  }

  int crashes() const { return crashes_; }

 private:
  // One transaction of one to six changes.
  void Step() {
    after_ = committed_;
    in_doubt_ = true;
    auto transaction = under_.Begin();
    bool ok = true;
    for (int n = 1 + random_() % 6; n > 0 && ok; --n) {
      ok = Change(*transaction).ok();
    }
    // Whatever failed has been refused for a lock; so it is taken back.
    if (!ok || random_() % 4 == 0) {
      ASSERT_TRUE(transaction->Abort().ok());
    } else {
      CommitOptions options;
      options.sequence = ++sequence_;
      ASSERT_TRUE(transaction->Commit(options).ok());
      committed_ = after_;
    }
    in_doubt_ = false;
  }

  absl::Status Change(Transaction& transaction) {
    const int kind = random_() % 10;
    if (after_.size() < 5 || kind < 2) {
      const uint32_t size = 1 + random_() % (kind == 0 ? 30000 : 300);
      auto id = transaction.Alloc(size);
      if (!id.ok()) return id.status();
      const std::string text(size, static_cast<char>('a' + random_() % 26));
      std::memcpy(*transaction.Write(*id, 0, size), text.data(), size);
      after_[*id] = text;
      return absl::OkStatus();
    }
    const auto victim = std::next(after_.begin(), random_() % after_.size());
    if (kind < 4) {
      absl::Status freed = transaction.Free(victim->first);
      if (freed.ok()) after_.erase(victim);
      return freed;
    }
    std::string& text = victim->second;
    const uint32_t offset = random_() % text.size();
    const uint32_t length = 1 + random_() % (text.size() - offset);
    auto bytes = transaction.Write(victim->first, offset, length);
    if (!bytes.ok()) return bytes.status();
    const char c = static_cast<char>('A' + random_() % 26);
    std::memset(*bytes, c, length);
    text.replace(offset, length, length, c);
    return absl::OkStatus();
  }

  void Crash() {
    ++crashes_;
    StoreUnderTest after(scheme_, under_.heap_region().CrashImage(random_()),
                         under_.backup_region().CrashImage(random_()));
    // Recovery itself may be cut off, any number of times.
    SimRegion::Image heap;
    SimRegion::Image backup;
    const uint64_t cut = random_() % 8;
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
    Check(after);
    if (heap.empty()) return;
    StoreUnderTest again(scheme_, heap, backup);
    Check(again);
  }

  void Check(StoreUnderTest& after) {
    absl::Status recovered = after.Recover();
    ASSERT_TRUE(recovered.ok()) << recovered;
    Model known = committed_;
    known.insert(after_.begin(), after_.end());
    const Model found = Contents(after.heap(), known);
    // Of the transaction under way all or nothing.
    const bool all = found == after_;
    const bool nothing = found == committed_;
    ASSERT_TRUE(nothing || (in_doubt_ && all)) << "crash " << crashes_;
    const Model& now = nothing ? committed_ : after_;
    ASSERT_EQ(after.heap().stats().objects, now.size() + 1);
    // The backup is right: aborting takes everything back.
    auto transaction = after.Begin();
    for (const auto& [id, text] : now) {
      auto bytes = transaction->Write(id, 0, text.size());
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      std::memset(*bytes, '#', text.size());
    }
    ASSERT_TRUE(transaction->Abort().ok());
    ASSERT_EQ(Contents(after.heap(), now), now);
  }

  const Scheme scheme_;
  std::mt19937_64 random_;
  StoreUnderTest under_;
  Model committed_;
  Model after_;  // if the transaction under way commits
  bool in_doubt_ = false;
  uint64_t sequence_ = 0;
  int crashes_ = 0;
};

class CrashTest : public ::testing::TestWithParam<Scheme> {};

TEST_P(CrashTest, RandomTransactionsSurviveRandomCrashes) {
  int crashes = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Workload workload(GetParam(), seed);
    workload.Run(/*transactions=*/60, /*crash_percent=*/5);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    crashes += workload.crashes();
  }
  EXPECT_GT(crashes, 50);
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

INSTANTIATE_TEST_SUITE_P(Schemes, CrashTest,
                         ::testing::Values(Scheme::kSimple, Scheme::kDynamic),
                         SchemeName);

}  // namespace
}  // namespace kamino::engine
