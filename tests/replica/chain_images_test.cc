// What a node's core does of itself where entries carry what they leave: when
// it starts, and when what it disputes is to be taken back.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "replica/chain_core.h"
#include "replica/scrub_record.h"
#include "tests/faults/planted.h"
#include "tests/replica/fake_heap.h"
#include "tests/replica/text_entry.h"

namespace kamino::replica {
namespace {

using engine::SimRegion;
using kamino::internal::v1::ChainMessage;
using membership::Condition;
using membership::View;

constexpr size_t kBytes = LogRing::kMinTinyBytes;

// n2, with a ring and a heap as a restart found them.
class Restarted {
 public:
  explicit Restarted(ChainMode mode)
      : mode_(mode),
        region_(kBytes),
        ring_(*LogRing::Create(&region_, {}, kBytes, mode)),
        record_(&region_),
        scrub_region_(4096),
        scrub_record_(&scrub_region_, 0),
        heap_(ring_.get(), &record_, &scrub_record_) {
    state_.incarnation = state_.view_id = 1;
    state_.condition = Condition::kSound;
  }

  void Append(const std::string& text) {
    EXPECT_TRUE(CarriesImages(mode_)
                    ? AppendTextWithImages(ring_.get(), text).ok()
                    : AppendText(ring_.get(), text).ok());
  }
  void Apply(uint64_t last) {
    ring_->MarkApplied(last);
    ring_->PersistApplied();
  }

  void Start() {
    record_.Create(state_);
    ChainOptions options;
    options.cluster_id = "c";
    options.node_id = "n2";
    options.incarnation = 1;
    options.mode = mode_;
    core_ = std::make_unique<ChainCore>(options, ring_.get(), &record_, &heap_,
                                        &heap_);
  }

  void Install(const std::vector<std::string>& members) {
    View view{"c", core_->view().id + 2, {}};
    for (const std::string& name : members) {
      membership::Member member;
      member.node_id = name;
      member.incarnation = 1;
      view.members.push_back(member);
    }
    Act([&](Actions* actions) { core_->OnView(view, now_, actions); });
  }

  void Hear(LinkId link, ChainMessage message) {
    message.set_chain_id(1);
    message.set_view_id(core_->view().id);
    Act([&](Actions* actions) {
      core_->OnMessage(link, message, "", now_, actions);
    });
  }

  void Tick() {
    now_ += absl::Milliseconds(100);
    Act([&](Actions* actions) { core_->OnTick(now_, actions); });
  }

  template <typename Input>
  void Act(const Input& input) {
    Actions actions;
    input(&actions);
    core_->EndOfBatch(now_, &actions);
    for (const auto& send : actions.send) {
      fetches_ += send.message.has_fetch();
    }
    for (const auto& open : actions.open) {
      if (open.purpose == internal::v1::LINK_PURPOSE_APPEND)
        append_ = open.link;
    }
    if (!actions.fatal.ok()) fatal_ = actions.fatal;
  }

  const ChainMode mode_;
  SimRegion region_;
  std::unique_ptr<LogRing> ring_;
  NodeRecord record_;
  NodeState state_;
  SimRegion scrub_region_;
  ScrubRecord scrub_record_;
  FakeHeap heap_;
  std::unique_ptr<ChainCore> core_;
  absl::Time now_ = absl::UnixEpoch();
  LinkId append_ = kNoLink;  // to the successor
  int fetches_ = 0;
  absl::Status fatal_;
};

TEST(ChainImagesTest, ANodeIsWholeBeforeItHearsOfAnybody) {
  Restarted node(ChainMode::kImages);
  for (const char* text : {"a=1 b=1", "a=2 c=2", "c=3 d=3"}) node.Append(text);
  node.Apply(1);
  node.heap_.ExecutePart("a=1 b=1", 2);
  node.heap_.ExecutePart("a=2 c=2", 1);
  node.Start();
  EXPECT_EQ(node.heap_.Text(), "a=2 b=1 c=3 d=3");
  EXPECT_EQ(node.ring_->applied(), 3u);
  EXPECT_EQ(node.core_->condition(), Condition::kReturned);
  EXPECT_TRUE(node.core_->heap_whole());
  // Alone, too.
  node.Install({"n2"});
  EXPECT_TRUE(node.fatal_.ok()) << node.fatal_;
  EXPECT_TRUE(node.core_->ready());
  EXPECT_EQ(node.core_->completed(), 3u);
}

TEST(ChainImagesTest, InAnotherModeItIsTorn) {
  Restarted node(ChainMode::kKamino);
  node.Append("a=1");
  node.Start();
  EXPECT_EQ(node.heap_.Text(), "nothing");
  EXPECT_EQ(node.core_->condition(), Condition::kTorn);
  node.Install({"n2"});
  EXPECT_EQ(node.fatal_.code(), absl::StatusCode::kUnavailable);
}

TEST(ChainImagesTest, OneThatJoinsGoesOnWhereItWas) {
  Restarted node(ChainMode::kImages);
  node.state_.condition = Condition::kBehind;
  node.Append("a=1");
  node.Start();
  EXPECT_EQ(node.heap_.Text(), "a=1");
  EXPECT_EQ(node.core_->condition(), Condition::kBehind);
}

TEST(ChainImagesTest, ACoreThatCannotRollForwardSaysSoWithItsFirstInput) {
  Restarted node(ChainMode::kImages);
  node.Append("a=1");
  const LogEntry entry = node.ring_->EntryOf(1);
  const_cast<char*>(entry.bytes().data())[entry.bytes().size() - 1] ^= 1;
  node.Start();
  EXPECT_EQ(node.ring_->applied(), 0u);
  node.Tick();
  EXPECT_TRUE(absl::IsDataLoss(node.fatal_)) << node.fatal_;
}

// n2 could not execute mutation 3 to its end and is head now. Mutation 2 has
// changed the same object, and n3 may not have it yet. Returns whether n3 is
// asked what it holds only once it has.
bool TakesBackInTime(ChainMode mode) {
  Restarted node(mode);
  for (const char* text : {"a=1", "a=2", "a=3 b=3"}) node.Append(text);
  node.Apply(2);
  node.ring_->Clean(1);
  node.heap_.ExecutePart("a=3 b=3", 1);
  node.state_.disputed = 3;
  node.state_.disputed_whole = false;
  node.Start();
  EXPECT_EQ(node.core_->condition(), Condition::kTorn);
  node.Install({"n2", "n3"});
  node.Act([&](Actions* actions) {
    node.core_->OnLinkOpened(node.append_, node.now_, actions);
  });
  ChainMessage sync;
  sync.mutable_sync()->set_received(1);
  sync.mutable_sync()->set_applied(1);
  sync.mutable_sync()->set_cleaned(1);
  node.Hear(node.append_, std::move(sync));
  node.Tick();
  if (node.fetches_ > 0) return false;
  ChainMessage clean_up;
  clean_up.mutable_clean_up()->set_cleaned(2);
  node.Hear(node.append_, std::move(clean_up));
  node.Tick();
  EXPECT_GT(node.fetches_, 0);
  return true;
}

TEST(ChainImagesTest, WhatIsDisputedIsTakenBackByWhoHasWhatCameBefore) {
  EXPECT_TRUE(TakesBackInTime(ChainMode::kImages));
  // Where entries in flight share no object it need not have it.
  EXPECT_FALSE(TakesBackInTime(ChainMode::kKamino));
}

TEST(ChainImagesTest, WhatIsTakenBackAtOnceIsNoticed) {
  faults::Planted planted("chain-takes-back-at-once");
  EXPECT_FALSE(TakesBackInTime(ChainMode::kImages));
}

}  // namespace
}  // namespace kamino::replica
