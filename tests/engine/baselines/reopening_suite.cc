// The guarantees of engine/transaction.h for a store that is opened again,
// tested on every scheme.
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/engine/baselines/fixture.h"
#include "tests/patience.h"

namespace kamino::engine {
namespace {

using absl::StatusCode;

class ReopeningTest : public StoreTest {};

INSTANTIATE_TEST_SUITE_P(Schemes, ReopeningTest,
                         ::testing::ValuesIn(SchemesToTest()), TestNameOf);

TEST_P(ReopeningTest, AReopenedStoreHoldsTheSame) {
  const ObjectId kept = Make("kept");
  const ObjectId freed = Make("freed");
  ASSERT_TRUE(Run([&](Transaction& t) { return t.Free(freed); }).ok());
  ASSERT_TRUE(
      Run([&](Transaction& t) { return Put(t, store_->root(), "root"); }).ok());
  ASSERT_TRUE(Begin()->Alloc(100).ok());  // aborted
  store_->Quiesce();
  const ObjectId root = store_->root();
  const uint64_t used = store_->bytes_used();
  Reopen();
  ASSERT_EQ(store_->root(), root);
  EXPECT_EQ(store_->bytes_used(), used);
  EXPECT_EQ(Text(root, 4), "root");
  EXPECT_EQ(Text(kept, 4), "kept");
  EXPECT_EQ(CodeOf(freed), StatusCode::kNotFound);
  const ObjectId made = Make("after");
  EXPECT_NE(made, kept);
  EXPECT_EQ(Text(kept, 4), "kept");
  EXPECT_EQ(Text(made, 5), "after");
}

// A wait for durability succeeds, also while others are live; and then the
// commit is durable.
TEST_P(ReopeningTest, DurableCommitsSurvive) {
  if (!atomic()) GTEST_SKIP();
  const ObjectId id = Make("first text");
  const ObjectId other = Make("other text");
  store_->Quiesce();
  EXPECT_TRUE(store_->AwaitDurable(durable_at_, absl::ZeroDuration()));
  store_.reset();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Open(/*fresh=*/false);
    // libpmemobj has one for each thread.
    const bool may_be_two =
        GetParam() != "undo-object" && GetParam() != "undo-range";
    auto live = Begin();
    bool ok = !may_be_two || Put(*live, other, "OTHER").ok();
    for (const char* text : {"second", "third", "fourth"}) {
      const uint64_t before = store_->durable_sequence();
      ok = ok && Run([&](Transaction& t) { return Put(t, id, text); }).ok();
      ok = ok && store_->durable_sequence() >= before;
    }
    ok = ok && store_->AwaitDurable(durable_at_, Patience(absl::Seconds(30))) &&
         store_->durable_sequence() >= durable_at_;
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  Open(/*fresh=*/false);
  EXPECT_EQ(Text(id, 10), "fourthtext");
  EXPECT_EQ(Text(other, 10), "other text");
  EXPECT_TRUE(store_->recovery_report().lost_objects.empty());
}

// Changes of a process that dies within a transaction are rolled back. The file
// loses nothing here, which is the harder case.
TEST_P(ReopeningTest, ATransactionOfADeadProcessIsRolledBack) {
  if (!atomic()) GTEST_SKIP();
  const ObjectId id = Make("first text");
  const ObjectId doomed = Make("doomed");
  const ObjectId large = Make(std::string(100000, 'a'));
  store_->Quiesce();
  const uint64_t used = store_->bytes_used();
  store_.reset();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Open(/*fresh=*/false);
    bool ok = Run([&](Transaction& t) { return Put(t, id, "FIRST"); }).ok();
    ok = ok && store_->AwaitDurable(durable_at_, Patience(absl::Seconds(30)));
    auto transaction = Begin();
    ok = ok && Put(*transaction, id, "OTHER WORD").ok() &&
         transaction->Overwrite(large, 5, BytesOf(std::string(90000, 'b')))
             .ok() &&
         transaction->Alloc(500).ok() && transaction->Free(doomed).ok();
    // Dies when everything but the mark is in place.
    const auto before_mark = [ok](const WriteSet&) -> absl::Status {
      _exit(ok ? 0 : 1);
    };
    CommitOptions options;
    options.before_mark.emplace(before_mark);
    (void)transaction->Commit(options);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  Open(/*fresh=*/false);
  EXPECT_EQ(Text(id, 10), "FIRST text");
  EXPECT_EQ(Text(doomed, 6), "doomed");
  EXPECT_EQ(Text(large, 100000), std::string(100000, 'a'));
  if (GetParam() != "kamino-dynamic") {
    EXPECT_EQ(store_->bytes_used(), used);
  }
}

}  // namespace
}  // namespace kamino::engine
