// A backup's objects are brought into a chain of real nodes on simulated disks,
// which numbers skip, while heads and others lose their power.
#include "replica/state/restore.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kamino/internal/v1/operation.pb.h"
#include "membership/manager/claims.h"
#include "node/backup_reads.h"
#include "node/driver/chain_node.h"
#include "proto/backup_records.h"
#include "replica/errors.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

constexpr uint64_t kBase = uint64_t{1} << 50;
constexpr int kObjects = 60;

class RestoreTest : public ::testing::TestWithParam<ChainMode> {
 protected:
  RestoreTest() : rig_(OptionsOf(GetParam())) {}

  static ChainRig::Options OptionsOf(ChainMode mode) {
    ChainRig::Options options;
    options.mode = mode;
    options.names = {"n1", "n2", "n3"};
    options.agrees = true;
    return options;
  }

  void Begin() {
    rig_.StartAll();
    rig_.InstallView({"n1", "n2", "n3"});
    rig_.Settle(3);
  }

  // By the head itself, as the service has it.
  std::shared_ptr<head::RequestOutcome> Own(const std::string& function,
                                            const std::string& arguments) {
    auto outcome = std::make_shared<head::RequestOutcome>();
    outcome->status = absl::UnknownError("no answer yet");
    head::Request request;
    request.mutation.function = function;
    request.mutation.arguments = arguments;
    request.done = [outcome](head::RequestOutcome of) { *outcome = of; };
    rig_.node(rig_.head()).head().Submit(std::move(request), rig_.now());
    rig_.Settle(3);
    return outcome;
  }

  absl::Status BeginRestore(uint64_t heap_used = 0, uint64_t base = kBase) {
    kamino::internal::v1::BeginRestore begin;
    begin.set_backup_id("0123456789abcdef");
    begin.set_base(base);
    begin.set_heap_used(heap_used);
    return Own(replica::kBeginRestoreFunction, begin.SerializeAsString())
        ->status;
  }
  absl::Status Bring(int from, int to) {
    kamino::internal::v1::RestoreObjects objects;
    objects.set_backup_id("0123456789abcdef");
    for (int i = from; i < to; ++i) {
      AppendBackupRecord({absl::StrCat("k", 100 + i), std::string(i, 'v'),
                          static_cast<uint64_t>(i + 1)},
                         objects.mutable_records());
    }
    return Own(replica::kRestoreFunction, objects.SerializeAsString())->status;
  }
  absl::Status Finish() {
    kamino::internal::v1::FinishRestore finish;
    finish.set_backup_id("0123456789abcdef");
    return Own(replica::kFinishRestoreFunction, finish.SerializeAsString())
        ->status;
  }

  std::shared_ptr<Issued> Put(const std::string& key) {
    const auto issued = rig_.Submit(++client_, {node::Put(key, "new")});
    issued->request.since = rig_.ring(rig_.head()).cleaned();
    rig_.Settle(3);
    return issued;
  }

  // As a backup of the tail has them.
  std::string RecordsAt(const std::string& tail) {
    ChainNode& node = rig_.node(tail);
    const auto opened = node.snapshots().Open(/*while_restoring=*/true);
    EXPECT_TRUE(opened.ok()) << opened.status();
    BackupCursor cursor;
    std::string records;
    while (!cursor.done) {
      absl::Status read = node.snapshots().Read(
          nullptr, opened->id, [&](engine::KeyValueReader& objects) {
            return ReadBackupStep(objects, &cursor, &records);
          });
      EXPECT_TRUE(read.ok()) << read;
      if (!read.ok()) break;
    }
    node.snapshots().Close(opened->id);
    return records;
  }
  static std::string All() {
    std::string records;
    for (int i = 0; i < kObjects; ++i) {
      AppendBackupRecord({absl::StrCat("k", 100 + i), std::string(i, 'v'),
                          static_cast<uint64_t>(i + 1)},
                         &records);
    }
    return records;
  }

  ChainRig rig_;
  uint64_t client_ = 0;
};

TEST_P(RestoreTest, TheChainContinuesAboveTheBase) {
  Begin();
  ASSERT_TRUE(BeginRestore().ok());
  for (const char* name : {"n1", "n2", "n3"}) {
    EXPECT_EQ(rig_.ring(name).applied(), kBase) << name;
  }
  ASSERT_TRUE(Bring(0, kObjects).ok());
  EXPECT_EQ(replica::ReasonOf(Put("x")->outcome.status),
            kamino::v1::REASON_RESTORING);
  EXPECT_EQ(replica::ReasonOf(rig_.node("n3").snapshots().Open().status()),
            kamino::v1::REASON_RESTORING);
  EXPECT_EQ(RecordsAt("n3"), All());
  ASSERT_TRUE(Finish().ok());
  const auto put = Put("x");
  ASSERT_TRUE(put->acknowledged()) << put->outcome.status;
  EXPECT_GT(put->outcome.sequence, kBase);
  EXPECT_EQ(*rig_.ReadAll("n1"), *rig_.ReadAll("n3"));
}

// Those that were away find the number again that was skipped to.
TEST_P(RestoreTest, SurvivesPowerCutsOfAllNodes) {
  Begin();
  ASSERT_TRUE(BeginRestore().ok());
  for (const char* name : {"n1", "n2", "n3"}) rig_.CutPower(name, 7);
  rig_.StartAll();
  rig_.InstallView({"n1", "n2", "n3"});
  rig_.Settle();
  for (const char* name : {"n1", "n2", "n3"}) {
    EXPECT_EQ(rig_.ring(name).received(), kBase) << name;
  }
  ASSERT_TRUE(Bring(0, kObjects / 2).ok());
  rig_.CutPower("n2", 8);
  rig_.Start("n2");
  rig_.InstallView({"n1", "n2", "n3"});
  rig_.Settle();
  ASSERT_TRUE(Bring(kObjects / 2, kObjects).ok());
  ASSERT_TRUE(Finish().ok());
  EXPECT_EQ(RecordsAt("n3"), All());
  EXPECT_TRUE(Put("x")->acknowledged());
}

TEST_P(RestoreTest, TheNextHeadContinues) {
  Begin();
  ASSERT_TRUE(BeginRestore().ok());
  ASSERT_TRUE(Bring(0, kObjects / 2).ok());
  rig_.CutPower("n1", 9);
  rig_.InstallView({"n2", "n3"});
  rig_.Settle();
  ASSERT_TRUE(BeginRestore().ok());
  ASSERT_TRUE(Bring(0, kObjects).ok());
  ASSERT_TRUE(Finish().ok());
  EXPECT_EQ(RecordsAt("n3"), All());
  EXPECT_TRUE(Put("x")->acknowledged());
}

TEST_P(RestoreTest, ARestoreThatCannotFitIsRefused) {
  Begin();
  EXPECT_EQ(replica::ReasonOf(BeginRestore(/*heap_used=*/1 << 30)),
            kamino::v1::REASON_HEAP_FULL);
  const auto issued = rig_.Submit(1, {node::Put("x", "1")});
  rig_.Settle(3);
  EXPECT_TRUE(issued->acknowledged()) << issued->outcome.status;
  EXPECT_EQ(replica::ReasonOf(BeginRestore()), kamino::v1::REASON_NOT_EMPTY);
}

static_assert(kBackupSequenceEnd <= membership::kNeverReached / 2,
              "managers believe a node whose numbers go on above it");

// No node could execute a mutation after it, and the chain would stop.
TEST_P(RestoreTest, ABaseThatLeavesNoNumbersIsRefused) {
  Begin();
  for (const uint64_t base : {~uint64_t{0}, kBackupSequenceEnd}) {
    EXPECT_EQ(replica::ReasonOf(BeginRestore(/*heap_used=*/0, base)),
              kamino::v1::REASON_INVALID_ARGUMENT)
        << base;
  }
  EXPECT_TRUE(Put("x")->acknowledged());
  rig_.CutPower("n1", 7);
  rig_.Start("n1");
  rig_.InstallView({"n1", "n2", "n3"});
  rig_.Settle();
  EXPECT_TRUE(Put("y")->acknowledged());
}

TEST_P(RestoreTest, TheLargestBaseLeavesNumbers) {
  Begin();
  ASSERT_TRUE(BeginRestore(/*heap_used=*/0, kBackupSequenceEnd - 1).ok());
  ASSERT_TRUE(Finish().ok());
  for (const char* name : {"n1", "n2", "n3"}) rig_.CutPower(name, 7);
  rig_.StartAll();
  rig_.InstallView({"n1", "n2", "n3"});
  rig_.Settle();
  const auto put = Put("x");
  ASSERT_TRUE(put->acknowledged()) << put->outcome.status;
  EXPECT_GT(put->outcome.sequence, kBackupSequenceEnd);
}

INSTANTIATE_TEST_SUITE_P(Modes, RestoreTest,
                         ::testing::Values(ChainMode::kKamino,
                                           ChainMode::kImages,
                                           ChainMode::kTraditional));

// Nodes of a release that does not know of skipped numbers are not given any.
TEST(RestoreInForceTest, NeedsAllNodesToKnowSkippedNumbers) {
  ChainRig::Options options;
  options.names = {"n1", "n2", "n3"};
  options.agrees = false;
  ChainRig rig(options);
  rig.StartAll();
  rig.InstallView({"n1", "n2", "n3"});
  rig.Settle(3);
  absl::Status refused;
  head::Request request;
  request.mutation.function = replica::kBeginRestoreFunction;
  request.done = [&](head::RequestOutcome of) { refused = of.status; };
  rig.node("n1").head().Submit(std::move(request), rig.now());
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("finalize"));
}

}  // namespace
}  // namespace kamino::node
