// Checks that concurrent operations of the index are strictly serializable:
// each transaction sees one state, and everything that was committed before it
// began.
#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "engine/index/btree.h"
#include "engine/index/directory.h"
#include "engine/index/key_value.h"
#include "engine/kamino/kamino_store.h"
#include "engine/kamino/undo_copy.h"
#include "engine/pmem/plain_region.h"
#include "gtest/gtest.h"
#include "tests/engine/kamino/fixture.h"
#include "tests/faults/fault.h"

namespace kamino::engine {
namespace {

constexpr int kAccounts = 6;
constexpr int kTokenPlaces = 4;
constexpr int64_t kFunds = 100;  // of each account, at first

std::string Account(int i) { return absl::StrCat("account/", i); }
std::string TokenPlace(int i) { return absl::StrCat("token/", i); }

// Values of different lengths, so that records move.
std::string ValueOf(int64_t funds, uint64_t version) {
  return absl::StrCat(funds, "/", std::string(1 + version % 5 * 60, '.'));
}
std::optional<int64_t> FundsIn(absl::string_view value) {
  int64_t funds;
  if (!absl::SimpleAtoi(value.substr(0, value.find('/')), &funds)) {
    return std::nullopt;
  }
  return funds;
}

// The size of the directory; 0: there is none.
using Setting = std::tuple<Scheme, size_t>;

class LinearizabilityTest : public ::testing::TestWithParam<Setting> {
 protected:
  LinearizabilityTest()
      : heap_(*Heap::Create(&heap_region_, "test")),
        undo_copy_region_(simple() ? SimpleUndoCopyBytes(kTestHeapBytes)
                                   : DynamicUndoCopyBytes(kTestHeapBytes, 0.3)),
        store_(*KaminoStore::Open(
            heap_.get(),
            *(simple()
                  ? CreateSimpleUndoCopy(heap_.get(), &undo_copy_region_)
                  : CreateDynamicUndoCopy(heap_.get(), &undo_copy_region_)))) {
    if (const size_t bytes = std::get<1>(GetParam()); bytes > 0) {
      directory_ = std::make_unique<Directory>(bytes);
    }
    auto transaction = store_->Begin(absl::Seconds(1));
    root_ = *BTree::Create(*transaction);
    KeyValue keys = Keys(*transaction);
    for (int i = 0; i < kAccounts; ++i) {
      EXPECT_TRUE(keys.Put(Account(i), ValueOf(kFunds, 1), 1).ok());
    }
    EXPECT_TRUE(keys.Put(TokenPlace(0), "token", 1).ok());
    EXPECT_TRUE(transaction->Commit().ok());
  }
  ~LinearizabilityTest() override { faults::PlantFault(""); }

  static bool simple() { return std::get<0>(GetParam()) == Scheme::kSimple; }

  KeyValue Keys(Transaction& transaction) {
    KeyValue keys(&transaction, root_);
    if (directory_ != nullptr) keys.UseDirectory(directory_.get());
    return keys;
  }

  // Whether all transactions of all threads saw what they should.
  bool RunThreads(int transactions) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
      threads.emplace_back([this, t, transactions] {
        Writer(t, transactions);
        --writers_;
      });
      ++writers_;
    }
    for (unsigned t = 0; t < 2; ++t) {
      threads.emplace_back([this, t] { Observer(t); });
    }
    for (std::thread& thread : threads) thread.join();
    return right_;
  }

 private:
  // Runs the body in a transaction, again until no other one is in the way.
  template <typename Body>
  void Commit(Body body) {
    thread_local std::minstd_rand random(static_cast<unsigned>(
        std::hash<std::thread::id>()(std::this_thread::get_id())));
    for (int attempt = 1;; ++attempt) {
      auto transaction = store_->Begin(absl::Microseconds(200));
      KeyValue keys = Keys(*transaction);
      const absl::Status done = body(keys);
      const absl::Status ended =
          done.ok() ? transaction->Commit() : transaction->Abort();
      if (absl::IsAborted(done)) {
        // Two that waited for each other must not begin again together.
        for (unsigned n = random() % (20 * std::min(attempt, 20)); n > 0; --n) {
          std::this_thread::yield();
        }
        continue;
      }
      if (!done.ok() || !ended.ok()) right_ = false;
      return;
    }
  }

  struct Balance {
    int64_t funds = 0;
    uint64_t version = 0;
  };
  static absl::StatusOr<Balance> BalanceOf(KeyValue& keys, int account) {
    const auto entry = keys.Get(Account(account));
    if (!entry.ok()) return entry.status();
    const auto funds = FundsIn(entry->value);
    if (!funds.has_value()) return absl::DataLossError("no balance");
    return Balance{*funds, entry->version};
  }
  static absl::Status Set(KeyValue& keys, int account, const Balance& balance) {
    return keys.Put(Account(account), ValueOf(balance.funds, balance.version),
                    balance.version);
  }

  void Acknowledge(int account, uint64_t version) {
    std::atomic<uint64_t>& newest = acknowledged_[account];
    uint64_t before = newest;
    while (before < version && !newest.compare_exchange_weak(before, version)) {
    }
  }

  void Writer(unsigned seed, int transactions) {
    std::mt19937 random(seed);
    for (int i = 0; i < transactions && right_; ++i) {
      const int a = random() % kAccounts;
      const int b = (a + 1 + random() % (kAccounts - 1)) % kAccounts;
      switch (random() % 3) {
        case 0:
          Transfer(a, b, 1 + random() % 9);
          break;
        case 1:
          MakeAgain(a);
          break;
        default:
          MoveToken(random() % kTokenPlaces);
      }
    }
  }
  void Transfer(int from, int to, int64_t amount) {
    uint64_t versions[2] = {};
    Commit([&](KeyValue& keys) -> absl::Status {
      auto source = BalanceOf(keys, from);
      if (!source.ok()) return source.status();
      auto target = BalanceOf(keys, to);
      if (!target.ok()) return target.status();
      source->funds -= amount;
      target->funds += amount;
      versions[0] = ++source->version;
      versions[1] = ++target->version;
      const absl::Status set = Set(keys, from, *source);
      return set.ok() ? Set(keys, to, *target) : set;
    });
    Acknowledge(from, versions[0]);
    Acknowledge(to, versions[1]);
  }
  void MakeAgain(int account) {
    uint64_t version = 0;
    Commit([&](KeyValue& keys) -> absl::Status {
      auto balance = BalanceOf(keys, account);
      if (!balance.ok()) return balance.status();
      version = ++balance->version;
      const absl::Status gone = keys.Delete(Account(account), version);
      return gone.ok() ? Set(keys, account, *balance) : gone;
    });
    Acknowledge(account, version);
  }
  void MoveToken(int to) {
    Commit([&](KeyValue& keys) -> absl::Status {
      const auto from = FindToken(keys);
      if (!from.ok()) return from.status();
      const absl::Status gone = keys.Delete(TokenPlace(*from), 1);
      return gone.ok() ? keys.Put(TokenPlace(to), "token", 1) : gone;
    });
  }
  // kDataLoss: the token is not at exactly one place.
  static absl::StatusOr<int> FindToken(KeyValue& keys) {
    std::optional<int> place;
    int found = 0;
    for (int i = 0; i < kTokenPlaces; ++i) {
      const absl::Status there = keys.Get(TokenPlace(i)).status();
      if (absl::IsNotFound(there)) continue;
      if (!there.ok()) return there;
      place = i;
      ++found;
    }
    if (found != 1) return absl::DataLossError("not one token");
    return *place;
  }

  void Observer(unsigned seed) {
    std::mt19937 random(100 + seed);
    while (writers_ > 0 && right_) {
      switch (random() % 3) {
        case 0:
          ReadAccounts();
          break;
        case 1:
          ScanAccounts();
          break;
        default:
          Commit([](KeyValue& keys) { return FindToken(keys).status(); });
      }
    }
  }
  void ReadAccounts() {
    Observe([](KeyValue& keys, std::array<Balance, kAccounts>* balances) {
      for (int i = kAccounts - 1; i >= 0; --i) {
        const auto balance = BalanceOf(keys, i);
        if (!balance.ok()) return balance.status();
        (*balances)[i] = *balance;
      }
      return absl::OkStatus();
    });
  }
  void ScanAccounts() {
    Observe([](KeyValue& keys, std::array<Balance, kAccounts>* balances) {
      int at = 0;
      return keys.Scan("account/", "account0", kAccounts,
                       [&](absl::string_view, const KeyValue::Entry& entry) {
                         (*balances)[at++] = {FundsIn(entry.value).value_or(-1),
                                              entry.version};
                         return true;
                       });
    });
  }
  // The state that `read` sees has all funds, and is no older than what had
  // been committed before.
  template <typename Read>
  void Observe(Read read) {
    std::array<uint64_t, kAccounts> least;
    for (int i = 0; i < kAccounts; ++i) least[i] = acknowledged_[i];
    std::array<Balance, kAccounts> balances{};
    Commit([&](KeyValue& keys) {
      balances = {};
      return read(keys, &balances);
    });
    int64_t funds = 0;
    for (int i = 0; i < kAccounts; ++i) {
      funds += balances[i].funds;
      if (balances[i].version < least[i]) right_ = false;
    }
    if (funds != kAccounts * kFunds) right_ = false;
  }

  PlainRegion heap_region_{kTestHeapBytes};
  const std::unique_ptr<Heap> heap_;
  PlainRegion undo_copy_region_;
  const std::unique_ptr<KaminoStore> store_;
  std::unique_ptr<Directory> directory_;
  ObjectId root_ = kNullObject;

  std::atomic<int> writers_{0};
  std::atomic<bool> right_{true};
  std::array<std::atomic<uint64_t>, kAccounts> acknowledged_{};
};

TEST_P(LinearizabilityTest, TransactionsSeeOneStateAndNoOldOne) {
  EXPECT_TRUE(RunThreads(3000));
}

INSTANTIATE_TEST_SUITE_P(Settings, LinearizabilityTest,
                         ::testing::Combine(::testing::Values(Scheme::kSimple,
                                                              Scheme::kDynamic),
                                            ::testing::Values(0, 64, 4096)));

using FaultyLinearizabilityTest = LinearizabilityTest;

// By an error or by what a transaction sees.
TEST_P(FaultyLinearizabilityTest, PlantedStaleEntriesAreDetected) {
  faults::PlantFault("directory-keeps-changed-keys");
  EXPECT_FALSE(RunThreads(100000));
  EXPECT_TRUE(faults::PlantedFaultWasMet());
}

INSTANTIATE_TEST_SUITE_P(Settings, FaultyLinearizabilityTest,
                         ::testing::Values(Setting{Scheme::kSimple, 4096}));

}  // namespace
}  // namespace kamino::engine
