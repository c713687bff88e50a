// A chain with full heaps, in each mode: operations that free room are executed
// at the head, at the next head, and after a node has joined; and all nodes
// have the same result.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/message_lite.h"
#include "gtest/gtest.h"
#include "kamino/internal/v1/operation.pb.h"
#include "proto/backup_records.h"
#include "replica/errors.h"
#include "replica/state/restore.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

using kamino::v1::Operation;

struct Setup {
  ChainMode mode;
  UndoCopyKind undo_copy;
};

class FullHeapTest : public ::testing::TestWithParam<Setup> {
 protected:
  explicit FullHeapTest(ChainRig::Options options = Options())
      : rig_(std::move(options)) {
    rig_.StartAll();
    rig_.InstallView({"n1", "n2", "n3"});
    rig_.Settle();
  }

  static ChainRig::Options Options() {
    ChainRig::Options options;
    options.names = {"n1", "n2", "n3", "n4"};
    options.mode = GetParam().mode;
    options.undo_copy = GetParam().undo_copy;
    return options;
  }

  absl::Status Run(uint64_t client, const std::vector<Operation>& operations) {
    const auto issued = rig_.Submit(client, operations);
    issued->request.since = since_;
    rig_.Settle(2);
    EXPECT_EQ(issued->answers, 1);
    return issued->outcome.status;
  }
  // The client has no stored outcome.
  absl::Status RunNew(const std::vector<Operation>& operations) {
    return Run(++client_, operations);
  }

  static void ExpectFull(const absl::Status& status) {
    EXPECT_EQ(replica::ReasonOf(status), kamino::v1::REASON_HEAP_FULL)
        << status;
  }

  // Until neither a known client nor a new one has room for anything.
  void Fill() {
    for (const size_t size : {8000, 3000, 700, 300}) {
      for (;;) {
        const std::string key = absl::StrCat("f", ++filled_);
        const absl::Status status =
            Run(1, {Put(key, std::string(size, 'a' + filled_ % 26))});
        if (!status.ok()) {
          ExpectFull(status);
          break;
        }
        keys_.push_back(key);
      }
    }
    while (RunNew({Put(keys_.front(), "overwritten")}).ok()) {
    }
  }

  // Deletes `count` objects, by new clients and by all kinds of requests.
  void Delete(size_t count) {
    for (size_t i = 0; i < count && keys_.size() > 2; i += 2) {
      const std::string one = TakeKey();
      const std::string other = TakeKey();
      const absl::Status status = i % 4 == 0
                                      ? RunNew({kamino::node::Delete(one),
                                                Put("small", std::to_string(i)),
                                                kamino::node::Delete(other)})
                                      : RunNew({kamino::node::Delete(one)});
      ASSERT_TRUE(status.ok()) << status;
      if (i % 4 != 0) {
        ASSERT_TRUE(RunNew({kamino::node::Delete(other)}).ok());
      }
    }
  }
  std::string TakeKey() {
    const std::string key = keys_.back();
    keys_.pop_back();
    return key;
  }

  engine::HeapReserve ReserveOf(const std::string& name) {
    return rig_.storage(name).heap()->reserve();
  }

  ChainRig rig_;
  std::vector<std::string> keys_;
  int filled_ = 0;
  uint64_t since_ = 0;  // up to which clients know the chain
  uint64_t client_ = 1000;
};

TEST_P(FullHeapTest, IsEmptiedAtItsHead) {
  Fill();
  EXPECT_GT(ReserveOf("n1").bytes_kept, 0u);
  EXPECT_GE(ReserveOf("n1").bytes_whole, ReserveOf("n1").bytes_kept);
  EXPECT_EQ(ReserveOf("n2").bytes_kept, 0u);
  EXPECT_EQ(rig_.Difference(), "");
  Delete(keys_.size());
  EXPECT_EQ(rig_.Difference(), "");
  EXPECT_TRUE(RunNew({Put("new", std::string(8000, 'n'))}).ok());
}

TEST_P(FullHeapTest, IsEmptiedAtTheNextHead) {
  Fill();
  Delete(2);
  Fill();
  rig_.CutPower("n1", /*seed=*/7);
  rig_.InstallView({"n2", "n3"});
  rig_.Settle();
  ASSERT_EQ(rig_.head(), "n2");
  // Outcomes of deletes may have taken part of the reserve.
  EXPECT_GE(ReserveOf("n2").bytes_whole, ReserveOf("n2").bytes_kept / 2);
  ExpectFull(RunNew({Put(keys_.front(), "again")}));
  Delete(keys_.size());
  EXPECT_EQ(rig_.Difference(), "");
  EXPECT_TRUE(RunNew({Put("new", std::string(8000, 'n'))}).ok());
}

TEST_P(FullHeapTest, ANodeJoinsAndBecomesHead) {
  Fill();
  rig_.Invite("n4");
  rig_.Settle();
  rig_.InstallView({"n1", "n2", "n3", "n4"});
  rig_.Settle();
  ASSERT_EQ(rig_.Difference(), "");
  Delete(6);
  Fill();
  for (const char* name : {"n1", "n2"}) rig_.CutPower(name, /*seed=*/7);
  rig_.InstallView({"n4", "n3"});
  rig_.Settle();
  ASSERT_EQ(rig_.head(), "n4");
  Delete(keys_.size());
  EXPECT_EQ(rig_.Difference(), "");
}

// Heads of an earlier release had no reserve.
TEST_P(FullHeapTest, AHeadWithoutReserveIsFollowedByOneWithIt) {
  rig_.storage("n1").heap()->KeepReserve(0);
  Fill();
  rig_.CutPower("n1", /*seed=*/7);
  rig_.InstallView({"n2", "n3"});
  rig_.Settle();
  ASSERT_TRUE(rig_.up("n2")) << rig_.fatal("n2");
  EXPECT_LT(ReserveOf("n2").bytes_whole, ReserveOf("n2").bytes_kept);
  // Only the client with a stored outcome deletes, until there is room for
  // others.
  ASSERT_TRUE(Run(1, {kamino::node::Delete(TakeKey())}).ok());
  ASSERT_TRUE(Run(1, {kamino::node::Delete(TakeKey())}).ok());
  Delete(keys_.size());
  EXPECT_EQ(rig_.Difference(), "");
}

// No client of a restored cluster has a stored outcome.
class FilledByARestoreTest : public FullHeapTest {
 protected:
  FilledByARestoreTest() : FullHeapTest(AgreeingOptions()) {}

  static ChainRig::Options AgreeingOptions() {
    ChainRig::Options options = Options();
    options.agrees = true;
    return options;
  }

  // By the head itself, as the service has it.
  absl::Status Own(const std::string& function,
                   const google::protobuf::MessageLite& arguments) {
    const auto answer =
        std::make_shared<absl::Status>(absl::UnknownError("no answer yet"));
    head::Request request;
    request.mutation.function = function;
    request.mutation.arguments = arguments.SerializeAsString();
    request.done = [answer](const head::RequestOutcome& outcome) {
      *answer = outcome.status;
    };
    rig_.node(rig_.head()).head().Submit(std::move(request), rig_.now());
    rig_.Settle(2);
    return *answer;
  }

  absl::Status BeginRestore() {
    kamino::internal::v1::BeginRestore begin;
    begin.set_backup_id(kBackupId);
    begin.set_base(kBase);
    since_ = kBase;
    return Own(replica::kBeginRestoreFunction, begin);
  }
  absl::Status Bring(const std::string& key, size_t bytes) {
    kamino::internal::v1::RestoreObjects objects;
    objects.set_backup_id(kBackupId);
    AppendBackupRecord({key, std::string(bytes, 'r'), /*version=*/1},
                       objects.mutable_records());
    return Own(replica::kRestoreFunction, objects);
  }

  // Objects of all sizes, as many of each as there is room for.
  void BringAll() {
    for (const size_t size : {8000, 3000, 700, 300, 10}) {
      for (;;) {
        const std::string key = absl::StrCat("r", ++filled_);
        const absl::Status brought = Bring(key, size);
        if (!brought.ok()) {
          ExpectFull(brought);
          break;
        }
        keys_.push_back(key);
      }
    }
  }

  static constexpr char kBackupId[] = "0123456789abcdef";
  static constexpr uint64_t kBase = uint64_t{1} << 50;
};

TEST_P(FilledByARestoreTest, IsEmptied) {
  ASSERT_TRUE(BeginRestore().ok());
  BringAll();
  EXPECT_GE(ReserveOf("n1").bytes_whole, ReserveOf("n1").bytes_kept);
  kamino::internal::v1::FinishRestore finish;
  finish.set_backup_id(kBackupId);
  ASSERT_TRUE(Own(replica::kFinishRestoreFunction, finish).ok());
  ExpectFull(RunNew({Put("new", std::string(8000, 'n'))}));
  Delete(keys_.size());
  EXPECT_TRUE(RunNew({Put("new", std::string(8000, 'n'))}).ok());
  // The rig does not know what the restore has brought.
  EXPECT_EQ(*rig_.ReadAll("n1"), *rig_.ReadAll("n3"));
}

TEST_P(FilledByARestoreTest, IsGivenUp) {
  ASSERT_TRUE(BeginRestore().ok());
  BringAll();
  const kamino::internal::v1::GiveUpRestore give_up;
  for (size_t i = 0; i <= keys_.size(); ++i) {
    ASSERT_TRUE(Own(replica::kGiveUpRestoreFunction, give_up).ok());
  }
  EXPECT_TRUE(rig_.ReadAll("n3")->empty());
  EXPECT_TRUE(RunNew({Put("new", std::string(8000, 'n'))}).ok());
  EXPECT_EQ(rig_.Difference(), "");
}

constexpr Setup kSetups[] = {{ChainMode::kKamino, UndoCopyKind::kSimple},
                             {ChainMode::kKamino, UndoCopyKind::kDynamic},
                             {ChainMode::kTraditional, UndoCopyKind::kSimple},
                             {ChainMode::kTraditional, UndoCopyKind::kLog},
                             {ChainMode::kImages, UndoCopyKind::kSimple}};
INSTANTIATE_TEST_SUITE_P(Modes, FullHeapTest, ::testing::ValuesIn(kSetups));
INSTANTIATE_TEST_SUITE_P(Modes, FilledByARestoreTest,
                         ::testing::ValuesIn(kSetups));

}  // namespace
}  // namespace kamino::node
