// Several threads on one store, along with its worker thread: for
// ThreadSanitizer (make sanitize), and for effects that only threads have.
#include "tests/engine/baselines/threads_suite.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "engine/baselines/scheme.h"
#include "engine/heap/heap.h"
#include "engine/pmem/plain_region.h"
#include "engine/resource_error.h"
#include "gtest/gtest.h"
#include "tests/patience.h"

namespace kamino::engine {
namespace {

constexpr int kThreads = 3;
constexpr int kRounds = 300;
constexpr int kAccounts = 8;
constexpr int64_t kEach = 1000;

// Memory of a store without an undo copy.
class OneRegion final : public StoreRegions {
 public:
  explicit OneRegion(Region* region) : region_(region) {}
  absl::StatusOr<Region*> OpenHeap() override { return region_; }
  absl::StatusOr<Region*> OpenCopy(uint64_t) override {
    return absl::UnimplementedError("a scheme with an undo copy");
  }

 private:
  Region* const region_;
};

class ThreadsTest : public ::testing::TestWithParam<ThreadedScheme> {
 protected:
  ThreadsTest() {
    std::memset(region_.base(), 0, region_.size());
    Open(/*fresh=*/true);
  }

  void Open(bool fresh) {
    opened_.reset();
    StoreOptions options;
    options.fresh = fresh;
    options.scheme_options = GetParam().options;
    OneRegion regions(&region_);
    auto opened = SchemeNamed(GetParam().name)->open(regions, options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    opened_.emplace(*std::move(opened));
  }
  TransactionalStore& store() { return *opened_->store; }

  // Until it commits.
  void Run(const std::function<absl::Status(Transaction&)>& body,
           const CommitOptions& options = CommitOptions()) {
    for (;;) {
      auto transaction = store().Begin(absl::ZeroDuration());
      absl::Status done = body(*transaction);
      if (done.ok()) {
        done = transaction->Commit(options);
      } else {
        ASSERT_TRUE(transaction->Abort().ok());
      }
      if (done.ok()) return;
      ASSERT_TRUE(absl::IsAborted(done) || ResourceOf(done) == Resource::kLog)
          << done;
      std::this_thread::yield();
    }
  }

  void InThreads(const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
    for (std::thread& thread : threads) thread.join();
  }

  PlainRegion region_{Heap::kMinBytes};
  std::optional<SchemeStore> opened_;
};

absl::StatusOr<int64_t> BalanceOf(Transaction& transaction, ObjectId id) {
  const auto bytes = transaction.Read(id);
  if (!bytes.ok()) return bytes.status();
  int64_t balance;
  std::memcpy(&balance, bytes->data(), sizeof(balance));
  return balance;
}

absl::Status SetBalance(Transaction& transaction, ObjectId id,
                        int64_t balance) {
  const auto bytes = transaction.Write(id, 0, sizeof(balance));
  if (!bytes.ok()) return bytes.status();
  std::memcpy(*bytes, &balance, sizeof(balance));
  return absl::OkStatus();
}

// Money moves, objects come and go; nothing is lost.
TEST_P(ThreadsTest, TransfersAndNewObjectsKeepTheSum) {
  std::vector<ObjectId> accounts(kAccounts);
  Run([&](Transaction& transaction) {
    for (ObjectId& id : accounts) {
      const auto made = transaction.Alloc(100);
      if (!made.ok()) return made.status();
      id = *made;
      const absl::Status set = SetBalance(transaction, id, kEach);
      if (!set.ok()) return set;
    }
    return absl::OkStatus();
  });
  const auto sum = [&](Transaction& transaction, int64_t* total) {
    *total = 0;
    for (const ObjectId id : accounts) {
      const auto balance = BalanceOf(transaction, id);
      if (!balance.ok()) return balance.status();
      *total += *balance;
    }
    return absl::OkStatus();
  };
  std::atomic<int> wrong{0};
  InThreads([&](int thread) {
    ObjectId own = kNullObject;
    for (int i = 0; i < kRounds; ++i) {
      const ObjectId from = accounts[(i + thread) % kAccounts];
      const ObjectId to = accounts[(i * 3 + thread + 1) % kAccounts];
      ObjectId made = kNullObject;
      Run([&](Transaction& transaction) {
        if (from != to) {
          const auto there = BalanceOf(transaction, from);
          if (!there.ok()) return there.status();
          absl::Status moved = SetBalance(transaction, from, *there - 1);
          if (!moved.ok()) return moved;
          const auto here = BalanceOf(transaction, to);
          if (!here.ok()) return here.status();
          moved = SetBalance(transaction, to, *here + 1);
          if (!moved.ok()) return moved;
        }
        if (own != kNullObject) {
          absl::Status freed = transaction.Free(own);
          if (!freed.ok()) return freed;
        }
        const auto fresh = transaction.Alloc(200);
        if (!fresh.ok()) return fresh.status();
        made = *fresh;
        return absl::OkStatus();
      });
      own = made;
      // Some threads wait for their commits, others do not.
      if (i % 50 == thread) {
        uint64_t place = 0;
        CommitOptions options;
        options.durable_at = &place;
        Run(
            [&](Transaction& transaction) {
              const auto bytes = transaction.Write(own, 0, 8);
              return bytes.ok() ? absl::OkStatus() : bytes.status();
            },
            options);
        if (!store().AwaitDurable(place, Patience(absl::Seconds(60)))) ++wrong;
      }
      if (i % 10 != 0) continue;
      int64_t total = 0;
      Run([&](Transaction& transaction) { return sum(transaction, &total); });
      if (total != kAccounts * kEach) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  Open(/*fresh=*/false);
  int64_t total = 0;
  Run([&](Transaction& transaction) { return sum(transaction, &total); });
  EXPECT_EQ(total, kAccounts * kEach);
}

INSTANTIATE_TEST_SUITE_P(
    Schemes, ThreadsTest, ::testing::ValuesIn(SchemesWithThreads()),
    [](const ::testing::TestParamInfo<ThreadedScheme>& info) {
      std::string name = info.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace kamino::engine
