// Media that cannot be used are refused with a message that says why.
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/chain_mode.h"
#include "base/undo_copy_kind.h"
#include "engine/kamino/kamino_store.h"
#include "engine/kamino/undo_copy_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node/storage/storage.h"
#include "tests/node/storage/sim_media.h"
#include "tests/replica/text_entry.h"

namespace kamino::node {
namespace {

using engine::CommitOptions;
using engine::KaminoStore;
using engine::WriteSet;
using engine::undo_copy_format::UndoCopyHeader;
using membership::Condition;
using replica::NodeState;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Part = Media::Part;

StorageOptions Tiny() {
  StorageOptions options;
  options.cluster_id = "c";
  options.node_id = "n1";
  options.heap_bytes = 256 << 10;
  options.ring_bytes = 64 << 10;
  options.undo_copy = UndoCopyKind::kSimple;
  options.alpha = 0.5;
  options.tiny_log_bytes = 64 << 10;
  return options;
}

class RefusedMediaTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Storage>> TryOpen(
      const StorageOptions& options = Tiny()) {
    return Storage::Open(options, std::make_unique<SimMedia>(&disk_));
  }
  std::unique_ptr<Storage> Open(const StorageOptions& options = Tiny()) {
    auto storage = TryOpen(options);
    EXPECT_TRUE(storage.ok()) << storage.status();
    return std::move(*storage);
  }
  // A head commits mutation 1, and the power goes then.
  void CommitOneAndCrash(UndoCopyKind kind) {
    disk_ = SimDisk();
    StorageOptions options = Tiny();
    options.undo_copy = kind;
    auto storage = Open(options);
    auto store = *KaminoStore::Open(storage->heap(), *storage->NewUndoCopy());
    NodeState state = storage->record()->state();
    state.was_head = true;
    state.condition = Condition::kSound;
    storage->record()->Update(state);
    auto transaction = store->Begin(absl::ZeroDuration());
    std::memcpy(*transaction->Write(storage->heap()->root(), 0, 8), "12345678",
                8);
    CommitOptions commit;
    commit.sequence = 1;
    const auto append = [&](const WriteSet&) {
      return replica::AppendText(storage->ring(), "entry", 1);
    };
    commit.before_mark.emplace(append);
    ASSERT_TRUE(transaction->Commit(commit).ok());
    disk_.Crash(1);
  }

  SimDisk disk_;
};

// The error must not be that the copy is of another kind.
TEST_F(RefusedMediaTest, ADamagedUndoCopyIsReported) {
  for (const UndoCopyKind kind : {UndoCopyKind::kDynamic, UndoCopyKind::kLog}) {
    CommitOneAndCrash(kind);
    const SimDisk::Images whole = disk_.Copy();
    SimDisk::Images damaged = whole;
    damaged[Part::kUndoCopy][offsetof(UndoCopyHeader, heap_uuid)] ^=
        std::byte{1};
    disk_.PutBack(damaged);
    absl::Status refused = TryOpen().status();
    EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("header is damaged: checksum"));

    if (kind == UndoCopyKind::kDynamic) {
      damaged = whole;
      std::memset(
          &damaged[Part::kUndoCopy][engine::undo_copy_format::kHeaderBytes],
          0xa5, 64);
      disk_.PutBack(damaged);
      refused = TryOpen().status();
      EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
      EXPECT_THAT(
          std::string(refused.message()),
          HasSubstr("the undo copy is damaged: its blocks do not cover it"));
    }
    // The existing undo copy rolls back, whichever kind this start is to make.
    disk_.PutBack(whole);
    EXPECT_EQ(Open()->ring()->applied(), 1u);
  }
}

TEST_F(RefusedMediaTest, DataOfAnotherChainModeAreRefused) {
  constexpr ChainMode kModes[] = {ChainMode::kKamino, ChainMode::kTraditional,
                                  ChainMode::kImages};
  for (const ChainMode theirs : kModes) {
    const std::string name(ChainModeName(theirs));
    disk_ = SimDisk();
    StorageOptions first = Tiny();
    first.mode = theirs;
    for (const ChainMode ours : kModes) {
      StorageOptions options = Tiny();
      options.mode = ours;
      Open(options);  // one that was never in a chain has no mode yet
    }
    {
      auto storage = Open(first);
      EXPECT_EQ(storage->ring()->mode(), theirs);
      NodeState state = storage->record()->state();
      state.condition = Condition::kSound;
      storage->record()->Update(state);
    }
    for (const ChainMode ours : kModes) {
      if (ours == theirs) continue;
      StorageOptions options = Tiny();
      options.mode = ours;
      const absl::Status refused = TryOpen(options).status();
      EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
      EXPECT_THAT(std::string(refused.message()),
                  AllOf(HasSubstr(absl::StrCat("in ", name, " mode")),
                        HasSubstr(absl::StrCat("says ", ChainModeName(ours))),
                        HasSubstr(absl::StrCat("--chain_mode=", name))));
    }
    EXPECT_TRUE(TryOpen(first).ok());
  }
}

}  // namespace
}  // namespace kamino::node
