// A chain whose heaps are full, in each mode: what frees room is executed at
// the head, at the one after it, and after a node has joined; and all nodes
// come to the same.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "replica/errors.h"
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
  FullHeapTest() : rig_(Options()) {
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
    rig_.Settle(2);
    EXPECT_EQ(issued->answers, 1);
    return issued->outcome.status;
  }
  // By a client whose outcome is not stored.
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

  // So many objects, each by a new client, and by all kinds of requests.
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
  // But for what outcomes of deletes have taken of it.
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

// As heads of an earlier release did.
TEST_P(FullHeapTest, AHeadWithoutReserveIsFollowedByOneWithIt) {
  rig_.storage("n1").heap()->KeepReserve(0);
  Fill();
  rig_.CutPower("n1", /*seed=*/7);
  rig_.InstallView({"n2", "n3"});
  rig_.Settle();
  ASSERT_TRUE(rig_.up("n2")) << rig_.fatal("n2");
  EXPECT_LT(ReserveOf("n2").bytes_whole, ReserveOf("n2").bytes_kept);
  // By the one whose outcome is stored, until there is room for others.
  ASSERT_TRUE(Run(1, {kamino::node::Delete(TakeKey())}).ok());
  ASSERT_TRUE(Run(1, {kamino::node::Delete(TakeKey())}).ok());
  Delete(keys_.size());
  EXPECT_EQ(rig_.Difference(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Modes, FullHeapTest,
    ::testing::Values(Setup{ChainMode::kKamino, UndoCopyKind::kSimple},
                      Setup{ChainMode::kKamino, UndoCopyKind::kDynamic},
                      Setup{ChainMode::kTraditional, UndoCopyKind::kSimple},
                      Setup{ChainMode::kTraditional, UndoCopyKind::kLog},
                      Setup{ChainMode::kImages, UndoCopyKind::kSimple}));

}  // namespace
}  // namespace kamino::node
