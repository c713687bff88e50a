// The guarantees of engine/transaction.h, tested on every scheme.
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/resource_error.h"
#include "gtest/gtest.h"
#include "tests/engine/baselines/fixture.h"

namespace kamino::engine {
namespace {

using absl::StatusCode;

class ConformanceTest : public StoreTest {};

INSTANTIATE_TEST_SUITE_P(Schemes, ConformanceTest,
                         ::testing::ValuesIn(SchemesToTest()), TestNameOf);

TEST_P(ConformanceTest, BeginsWithAZeroedRoot) {
  EXPECT_EQ(store_->scheme(), GetParam());
  EXPECT_GT(store_->bytes_used(), 0u);
  auto transaction = Begin();
  auto root = transaction->Read(store_->root());
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_GE(root->size(), 256u);
  for (std::byte byte : *root) ASSERT_EQ(byte, std::byte{0});
}

TEST_P(ConformanceTest, CommitKeepsChanges) {
  const ObjectId id = Make("first text");
  EXPECT_EQ(Text(id, 10), "first text");
  ASSERT_TRUE(Run([&](Transaction& t) { return Put(t, id, "other"); }).ok());
  EXPECT_EQ(Text(id, 10), "other text");
}

TEST_P(ConformanceTest, ATransactionReadsItsOwnWrites) {
  const ObjectId id = Make("first text");
  auto transaction = Begin();
  EXPECT_EQ(Get(*transaction, id, 10), "first text");
  ASSERT_TRUE(Put(*transaction, id, "other").ok());
  EXPECT_EQ(Get(*transaction, id, 10), "other text");
  ASSERT_TRUE(transaction->Overwrite(id, 6, BytesOf("word")).ok());
  EXPECT_EQ(Get(*transaction, id, 10), "other word");
  // Writable bytes hold the present content.
  EXPECT_EQ(std::memcmp(*transaction->Write(id, 0, 10), "other word", 10), 0);
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(Text(id, 10), "other word");
}

TEST_P(ConformanceTest, WriteSetListsDeclaredRanges) {
  const ObjectId id = Make("first text");
  auto transaction = Begin();
  ASSERT_TRUE(Put(*transaction, id, "other").ok());
  ASSERT_TRUE(transaction->Overwrite(id, 6, BytesOf("word")).ok());
  auto made = transaction->Alloc(100);
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE(Put(*transaction, *made, "new").ok());
  ASSERT_TRUE(transaction->Free(id).ok());
  const uint32_t old_size = transaction->write_set().back().length;
  const uint32_t new_size = transaction->Read(*made)->size();
  EXPECT_EQ(transaction->write_set(),
            (WriteSet{{id, 0, 5, IntentKind::kWrite},
                      {id, 6, 4, IntentKind::kWrite},
                      {*made, 0, new_size, IntentKind::kAlloc},
                      {id, 0, old_size, IntentKind::kFree}}));
}

TEST_P(ConformanceTest, SeveralRangesAreDeclaredAtOnce) {
  const ObjectId one = Make("some text");
  const ObjectId two = Make("more text");
  for (const bool commit : {false, true}) {
    auto transaction = Begin();
    const std::vector<Intent> intents = {{one, 0, 4}, {two, 5, 4}, {two, 0, 2}};
    ASSERT_TRUE(transaction->Declare(intents).ok());
    EXPECT_EQ(transaction->write_set(), intents);
    ASSERT_TRUE(Put(*transaction, one, "SOME").ok());
    ASSERT_TRUE(Put(*transaction, two, "EXT", 6).ok());
    ASSERT_TRUE(transaction->Overwrite(two, 0, BytesOf("M")).ok());
    EXPECT_EQ(Get(*transaction, two, 9), "More tEXT");
    ASSERT_TRUE((commit ? transaction->Commit() : transaction->Abort()).ok());
    const bool changed = commit || !atomic();
    EXPECT_EQ(Text(one, 9), changed ? "SOME text" : "some text");
    EXPECT_EQ(Text(two, 9), changed ? "More tEXT" : "more text");
  }
  EXPECT_TRUE(Begin()->Declare({}).ok());
  auto transaction = Begin();
  EXPECT_TRUE(absl::IsInvalidArgument(
      transaction->Declare({{one, 0, 4}, {two, 0, 9, IntentKind::kFree}})));
  EXPECT_TRUE(transaction->write_set().empty());
  EXPECT_TRUE(
      absl::IsOutOfRange(Begin()->Declare({{one, 0, 1}, {two, 1u << 20, 1}})));
  EXPECT_TRUE(absl::IsNotFound(Begin()->Declare({{one, 0, 1}, {64, 0, 1}})));
}

TEST_P(ConformanceTest, AbortRollsBack) {
  if (!atomic()) GTEST_SKIP();
  const ObjectId id = Make("first text");
  const ObjectId doomed = Make("doomed");
  auto transaction = Begin();
  ASSERT_TRUE(Put(*transaction, id, "FIRST").ok());
  ASSERT_TRUE(Put(*transaction, id, "again").ok());
  ASSERT_TRUE(Put(*transaction, id, "TEXT", 6).ok());
  ASSERT_TRUE(transaction->Overwrite(id, 3, BytesOf("mix")).ok());
  ASSERT_TRUE(Put(*transaction, doomed, "D").ok());
  ASSERT_TRUE(transaction->Free(doomed).ok());
  ASSERT_TRUE(transaction->Abort().ok());
  EXPECT_EQ(Text(id, 10), "first text");
  EXPECT_EQ(Text(doomed, 6), "doomed");
}

TEST_P(ConformanceTest, DestructionAborts) {
  if (!atomic()) GTEST_SKIP();
  const ObjectId id = Make("first text");
  ASSERT_TRUE(Put(*Begin(), id, "other").ok());
  EXPECT_EQ(Text(id, 10), "first text");
}

TEST_P(ConformanceTest, AllocIsZeroedAndRolledBack) {
  const ObjectId used = Make(std::string(500, 'x'));
  ASSERT_TRUE(Run([&](Transaction& t) { return t.Free(used); }).ok());
  store_->Quiesce();
  auto transaction = Begin();
  std::vector<ObjectId> made;
  for (int i = 0; i < 20; ++i) {
    auto id = transaction->Alloc(500);
    ASSERT_TRUE(id.ok()) << id.status();
    const auto bytes = transaction->Read(*id);
    ASSERT_GE(bytes->size(), 500u);
    for (std::byte byte : *bytes) ASSERT_EQ(byte, std::byte{0});
    std::memset(*transaction->Write(*id, 0, 500), 'y', 500);
    made.push_back(*id);
  }
  ASSERT_TRUE(transaction->Abort().ok());
  for (ObjectId id : made) EXPECT_EQ(CodeOf(id), StatusCode::kNotFound);
}

TEST_P(ConformanceTest, AFreedObjectIsGone) {
  const ObjectId id = Make("text");
  const uint64_t before = store_->bytes_used();
  auto transaction = Begin();
  ASSERT_TRUE(transaction->Free(id).ok());
  EXPECT_TRUE(absl::IsNotFound(transaction->Read(id).status()));
  EXPECT_TRUE(absl::IsNotFound(transaction->Write(id, 0, 1).status()));
  EXPECT_TRUE(absl::IsNotFound(transaction->Overwrite(id, 0, BytesOf("x"))));
  EXPECT_TRUE(absl::IsNotFound(transaction->Free(id)));
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(CodeOf(id), StatusCode::kNotFound);
  EXPECT_TRUE(absl::IsNotFound(Begin()->Free(id)));
  EXPECT_TRUE(absl::IsNotFound(Begin()->Write(id, 0, 1).status()));
  store_->Quiesce();
  EXPECT_LT(store_->bytes_used(), before);
}

TEST_P(ConformanceTest, TheRootCannotBeFreed) {
  const ObjectId root = store_->root();
  auto transaction = Begin();
  EXPECT_TRUE(absl::IsInvalidArgument(transaction->Free(root)));
  EXPECT_TRUE(transaction->Commit().ok());
  EXPECT_TRUE(Begin()->Read(root).ok());
}

TEST_P(ConformanceTest, AnAbortedFreeKeepsTheObject) {
  const ObjectId id = Make("text");
  auto transaction = Begin();
  ASSERT_TRUE(transaction->Free(id).ok());
  ASSERT_TRUE(transaction->Abort().ok());
  EXPECT_EQ(Text(id, 4), "text");
}

TEST_P(ConformanceTest, AllocAndFreeInOneTransactionLeaveNoObject) {
  const ObjectId other = Make("other");
  store_->Quiesce();
  const uint64_t before = store_->bytes_used();
  for (const bool commit : {true, false}) {
    auto transaction = Begin();
    auto id = transaction->Alloc(1000);
    ASSERT_TRUE(id.ok());
    ASSERT_TRUE(Put(*transaction, *id, "short life").ok());
    ASSERT_TRUE(Put(*transaction, other, "OTHER").ok());
    ASSERT_TRUE(transaction->Free(*id).ok());
    EXPECT_TRUE(absl::IsNotFound(transaction->Free(*id)));
    const absl::Status ended =
        commit ? transaction->Commit() : transaction->Abort();
    ASSERT_TRUE(ended.ok()) << ended;
    EXPECT_EQ(CodeOf(*id), StatusCode::kNotFound);
    EXPECT_EQ(Text(other, 5), "OTHER");
  }
  store_->Quiesce();
  if (GetParam() != "kamino-dynamic") {
    EXPECT_EQ(store_->bytes_used(), before);
  }
}

TEST_P(ConformanceTest, BadRangesAreErrors) {
  const ObjectId id = Make("text");
  const uint32_t size = Begin()->Read(id)->size();
  const auto code = [&](uint32_t offset, uint32_t length) {
    return Begin()->Write(id, offset, length).status().code();
  };
  EXPECT_EQ(code(0, size), StatusCode::kOk);
  EXPECT_EQ(code(size, 0), StatusCode::kOk);
  EXPECT_EQ(code(0, size + 1), StatusCode::kOutOfRange);
  EXPECT_EQ(code(1, size), StatusCode::kOutOfRange);
  EXPECT_EQ(code(size + 1, 0), StatusCode::kOutOfRange);
  EXPECT_EQ(code(UINT32_MAX, 1), StatusCode::kOutOfRange);
  EXPECT_EQ(code(1, UINT32_MAX), StatusCode::kOutOfRange);
  EXPECT_TRUE(absl::IsOutOfRange(Begin()->Overwrite(id, size, BytesOf("x"))));
  EXPECT_TRUE(Begin()->Overwrite(id, size, {}).ok());
}

TEST_P(ConformanceTest, BadSizesAreErrors) {
  EXPECT_TRUE(absl::IsInvalidArgument(Begin()->Alloc(0).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(Begin()->Alloc(kMaxObjectBytes + 1).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Begin()->Alloc(UINT32_MAX).status()));
  const ObjectId largest = Make(std::string(kMaxObjectBytes, 'z'));
  EXPECT_EQ(Text(largest, kMaxObjectBytes), std::string(kMaxObjectBytes, 'z'));
}

TEST_P(ConformanceTest, UnknownObjectsAreErrors) {
  const ObjectId id = Make(std::string(4000, 'a'));
  for (ObjectId wrong : {ObjectId{0}, ObjectId{1}, ObjectId{64}, id + 1, id + 8,
                         id + 64, ObjectId{kStoreBytes} - 64,
                         ObjectId{kStoreBytes}, ~ObjectId{0}, ~ObjectId{63}}) {
    EXPECT_EQ(CodeOf(wrong), StatusCode::kNotFound) << wrong;
    EXPECT_TRUE(absl::IsNotFound(Begin()->Write(wrong, 0, 1).status()));
    EXPECT_TRUE(absl::IsNotFound(Begin()->Free(wrong))) << wrong;
  }
}

TEST_P(ConformanceTest, AFullHeapKeepsItsObjects) {
  const ObjectId first = Make("first text");
  std::vector<ObjectId> made;
  absl::Status full;
  while (full.ok()) {
    full = Run([&](Transaction& t) {
      if (absl::Status put = Put(t, first, "first text"); !put.ok()) return put;
      auto id = t.Alloc(1 << 20);
      if (!id.ok()) return id.status();
      made.push_back(*id);
      return Put(t, *id, absl::StrCat("object ", made.size()));
    });
    ASSERT_LT(made.size(), kStoreBytes >> 20);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_GT(made.size(), 10u);
  EXPECT_EQ(Text(first, 10), "first text");
  for (size_t i = 0; i < made.size(); ++i) {
    const std::string text = absl::StrCat("object ", i + 1);
    EXPECT_EQ(Text(made[i], text.size()), text);
  }
  // Freeing needs no space, and releases some.
  const absl::Status freed =
      Run([&](Transaction& t) { return t.Free(made.back()); });
  ASSERT_TRUE(freed.ok()) << freed;
  store_->Quiesce();
  EXPECT_NE(Make(std::string(1 << 20, 'b')), kNullObject);
}

TEST_P(ConformanceTest, LargeTransactionsCommitAndAbort) {
  constexpr size_t kBytes = 1 << 20;
  std::vector<ObjectId> ids;
  for (char c : {'a', 'b', 'c'}) ids.push_back(Make(std::string(kBytes, c)));
  for (const bool commit : {false, true}) {
    auto transaction = Begin();
    for (ObjectId id : ids) {
      ASSERT_TRUE(Put(*transaction, id, std::string(100, 'x'), 10).ok());
      const absl::Status put =
          transaction->Overwrite(id, 0, BytesOf(std::string(kBytes, 'y')));
      ASSERT_TRUE(put.ok()) << put;
    }
    const absl::Status ended =
        commit ? transaction->Commit() : transaction->Abort();
    ASSERT_TRUE(ended.ok()) << ended;
    char c = 'a';
    for (ObjectId id : ids) {
      const char expected = commit || !atomic() ? 'y' : c;
      ASSERT_EQ(Text(id, kBytes), std::string(kBytes, expected));
      ++c;
    }
  }
}

TEST_P(ConformanceTest, ATransactionChangesManyObjects) {
  constexpr int kObjects = 200;
  std::vector<ObjectId> ids;
  for (int i = 0; i < kObjects; ++i) ids.push_back(Make("old text"));
  for (const bool commit : {false, true}) {
    auto transaction = Begin();
    for (int round = 0; round < 2; ++round) {
      for (ObjectId id : ids) {
        const uint32_t offset = 4 * round;
        ASSERT_TRUE(Put(*transaction, id, "NEWS", offset).ok());
      }
    }
    ASSERT_TRUE((commit ? transaction->Commit() : transaction->Abort()).ok());
    for (ObjectId id : ids) {
      ASSERT_EQ(Text(id, 8), commit || !atomic() ? "NEWSNEWS" : "old text");
    }
  }
}

TEST_P(ConformanceTest, LockedObjectsAreAConflict) {
  const ObjectId id = Make("text");
  store_->Quiesce();
  auto writer = store_->Begin(absl::ZeroDuration());
  ASSERT_TRUE(Put(*writer, id, "TEXT").ok());
  for (int kind = 0; kind < 4; ++kind) {
    auto other = store_->Begin(absl::ZeroDuration());
    EXPECT_FALSE(other->conflict().has_value());
    absl::Status status;
    if (kind == 0) status = other->Read(id).status();
    if (kind == 1) status = other->Write(id, 0, 1).status();
    if (kind == 2) status = other->Overwrite(id, 0, BytesOf("x"));
    if (kind == 3) status = other->Free(id);
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    EXPECT_EQ(other->conflict(), id);
    EXPECT_TRUE(other->Abort().ok());
  }
  ASSERT_TRUE(writer->Commit().ok());
  store_->Quiesce();
  auto after = store_->Begin(absl::ZeroDuration());
  EXPECT_EQ(Get(*after, id, 4), "TEXT");
}

TEST_P(ConformanceTest, ReadersShareLocksAndBlockWriters) {
  const ObjectId id = Make("text");
  store_->Quiesce();
  auto one = store_->Begin(absl::ZeroDuration());
  auto two = store_->Begin(absl::ZeroDuration());
  EXPECT_EQ(Get(*one, id, 4), "text");
  EXPECT_EQ(Get(*two, id, 4), "text");
  EXPECT_TRUE(absl::IsAborted(two->Write(id, 0, 4).status()));
  EXPECT_EQ(two->conflict(), id);
  ASSERT_TRUE(two->Abort().ok());
  ASSERT_TRUE(Put(*one, id, "mine").ok());
  ASSERT_TRUE(one->Commit().ok());
  EXPECT_EQ(Text(id, 4), "mine");
}

TEST_P(ConformanceTest, BeforeMarkMayRefuse) {
  const ObjectId id = Make("text");
  ObjectId made = kNullObject;
  for (const bool refuse : {true, false}) {
    auto transaction = Begin();
    ASSERT_TRUE(Put(*transaction, id, "TEXT").ok());
    made = *transaction->Alloc(10);
    const auto before_mark = [&](const WriteSet& write_set) {
      EXPECT_EQ(write_set.size(), 2u);
      return refuse ? absl::CancelledError("no") : absl::OkStatus();
    };
    CommitOptions options;
    options.before_mark.emplace(before_mark);
    EXPECT_EQ(transaction->Commit(options).code(),
              refuse ? StatusCode::kCancelled : StatusCode::kOk);
    EXPECT_EQ(Text(id, 4), refuse && atomic() ? "text" : "TEXT");
    EXPECT_EQ(CodeOf(made), refuse ? StatusCode::kNotFound : StatusCode::kOk);
    transaction.reset();
    store_->Quiesce();
  }
}

TEST_P(ConformanceTest, ConcurrentTransfersKeepTheSum) {
  constexpr int kAccounts = 8;
  constexpr int kRounds = 300;
  constexpr int64_t kEach = 1000;
  std::vector<ObjectId> accounts;
  for (int i = 0; i < kAccounts; ++i) {
    accounts.push_back(
        Make({reinterpret_cast<const char*>(&kEach), sizeof(kEach)}));
  }
  const auto add = [&](Transaction& t, ObjectId id, int64_t amount) {
    auto bytes = t.Write(id, 0, sizeof(int64_t));
    if (!bytes.ok()) return bytes.status();
    int64_t balance;
    std::memcpy(&balance, *bytes, sizeof(balance));
    balance += amount;
    std::memcpy(*bytes, &balance, sizeof(balance));
    return absl::OkStatus();
  };
  const auto move = [&](unsigned seed) {
    for (int i = 0; i < kRounds; ++i) {
      seed = seed * 1103515245 + 12345;
      const int from = seed >> 16 & 7;
      const int to = (from + 1 + (seed >> 20) % 7) % kAccounts;
      absl::Status done;
      do {
        auto t = store_->Begin(absl::Milliseconds(20));
        done = add(*t, accounts[from], -1);
        if (done.ok()) done = add(*t, accounts[to], 1);
        // One in four is aborted.
        const bool keep = !atomic() || i % 4 != 0;
        const absl::Status ended = done.ok() && keep ? t->Commit() : t->Abort();
        ASSERT_TRUE(ended.ok()) << ended;
        // A scheme without atomicity keeps partial changes.
        if (!done.ok() && !atomic()) {
          ASSERT_TRUE(absl::IsAborted(done)) << done;
          done = absl::OkStatus();
        }
      } while (absl::IsAborted(done) || ResourceOf(done) == Resource::kLog);
      ASSERT_TRUE(done.ok()) << done;
    }
  };
  std::thread other(move, 1);
  move(2);
  other.join();
  if (!atomic()) GTEST_SKIP() << "partial changes are kept";
  int64_t total = 0;
  for (ObjectId id : accounts) {
    int64_t balance;
    std::memcpy(&balance, Text(id, sizeof(balance)).data(), sizeof(balance));
    total += balance;
  }
  EXPECT_EQ(total, kAccounts * kEach);
}

// Another thread can use released space at once: each thread takes more than
// there is.
TEST_P(ConformanceTest, ThreadsReuseEachOthersSpace) {
  constexpr uint32_t kEach = 48u << 10;
  const auto churn = [&](bool commits) {
    for (uint64_t taken = 0; taken < 2 * kStoreBytes;) {
      auto transaction = store_->Begin(absl::ZeroDuration());
      for (int n = 0; n < 10; ++n) {
        auto id = transaction->Alloc(kEach);
        // Where copies are made later, transactions may be faster than they.
        if (ResourceOf(id.status()) == Resource::kLog) break;
        ASSERT_TRUE(id.ok()) << id.status();
        taken += kEach;
        if (commits) {
          ASSERT_TRUE(transaction->Free(*id).ok());
        }
      }
      const absl::Status ended =
          commits ? transaction->Commit() : transaction->Abort();
      ASSERT_TRUE(ended.ok()) << ended;
    }
  };
  std::thread other(churn, true);
  churn(false);
  other.join();
}

}  // namespace
}  // namespace kamino::engine
