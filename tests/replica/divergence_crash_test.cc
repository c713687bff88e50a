// A node becomes head with a divergent entry, and loses its power at every
// drain of the repair: whatever a crash leaves, its data stay valid.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "replica/core/chain_core.h"
#include "replica/state/scrub_record.h"
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
constexpr uint64_t kSeeds = 16;  // ways a crash comes out, at each drain

// The files that a crash leaves.
struct Disk {
  SimRegion::Image ring;
  FakeHeap::Objects objects;
};

View ViewOf(uint64_t id, uint64_t incarnation,
            const std::vector<std::string>& members) {
  View view{"c", id, {}};
  for (const std::string& name : members) {
    membership::Member member;
    member.node_id = name;
    member.incarnation = name == "n2" ? incarnation : 1;
    view.members.push_back(member);
  }
  return view;
}

// n2, whose result for mutation 2 differs from the head's; mutation 3 has come
// after it.
class DivergedNode {
 public:
  DivergedNode(const Disk* disk, uint64_t incarnation, bool whole)
      : incarnation_(incarnation),
        region_(disk != nullptr ? std::make_unique<SimRegion>(disk->ring)
                                : std::make_unique<SimRegion>(kBytes)),
        ring_(disk != nullptr ? *LogRing::Open(region_.get(), {})
                              : *LogRing::Create(region_.get(), {}, kBytes)),
        record_(region_.get()),
        scrub_region_(std::make_unique<SimRegion>(4096)),
        scrub_record_(scrub_region_.get(), 0),
        heap_(ring_.get(), &record_, &scrub_record_) {
    if (disk != nullptr) {
      EXPECT_TRUE(record_.Open().ok());
      heap_.objects = disk->objects;
    } else {
      WriteDivergence(whole);
    }
    heap_.diverges = true;
    ChainOptions options;
    options.cluster_id = "c";
    options.node_id = "n2";
    options.incarnation = incarnation;
    core_ = std::make_unique<ChainCore>(
        options, ChainStorage{ring_.get(), &record_, &heap_, &heap_});
  }

  // Becomes the head of those; n3 is in its state before mutation 2.
  void Lead(uint64_t view, const std::vector<std::string>& members) {
    Actions actions;
    core_->OnView(ViewOf(view, incarnation_, members), now_, &actions);
    fatal_ = actions.fatal;
    for (const auto& open : actions.open) {
      if (open.purpose != internal::v1::LINK_PURPOSE_APPEND) continue;
      core_->OnLinkOpened(open.link, now_, &actions);
      ChainMessage sync;
      sync.mutable_sync()->set_received(1);
      sync.mutable_sync()->set_applied(1);
      Hear(open.link, std::move(sync));
      AnswerFetches(open.link);
    }
  }

  // Collects its ring and heap as a crash at each later drain would leave them.
  void Watch(std::vector<Disk>* disks) {
    region_->SetDrainHook([this, disks] {
      for (uint64_t seed = 0; seed < kSeeds; ++seed) {
        disks->push_back({region_->CrashImage(seed), heap_.objects});
      }
    });
  }

  const absl::Status& fatal() const { return fatal_; }
  const ChainCore& core() const { return *core_; }
  std::string Text() const {
    return absl::StrCat(ring_->applied(), "/", ring_->received(), " ",
                        heap_.Text());
  }

 private:
  void WriteDivergence(bool whole) {
    NodeState state;
    state.incarnation = 1;
    state.view_id = 1;
    state.condition = Condition::kSound;
    state.disputed = 2;
    state.disputed_whole = whole;
    record_.Create(state);
    for (const char* text : {"a=1 b=1", "a=2 b=2", "c=3"}) {
      EXPECT_TRUE(AppendText(ring_.get(), text).ok());
    }
    ring_->MarkApplied(1);
    ring_->PersistApplied();
    heap_.ExecutePart("a=1 b=1", 2);
    heap_.ExecutePart("a=2 b=2", whole ? 2 : 1);
  }

  void Hear(LinkId link, ChainMessage message) {
    message.set_chain_id(1);
    message.set_view_id(core_->view().id);
    Actions actions;
    core_->OnMessage(link, message, "", now_, &actions);
    for (auto& send : actions.send) sent_.push_back(std::move(send.message));
  }

  // n3 answers the node's fetches.
  void AnswerFetches(LinkId link) {
    for (int i = 0; i < 4; ++i) {
      now_ += absl::Milliseconds(100);
      Actions actions;
      core_->OnTick(now_, &actions);
      for (auto& send : actions.send) sent_.push_back(std::move(send.message));
      for (const ChainMessage& sent : std::exchange(sent_, {})) {
        if (!sent.has_fetch()) continue;
        ChainMessage message;
        auto* fetched = message.mutable_fetched();
        fetched->set_number(sent.fetch().number());
        for (int n = 0; n < sent.fetch().intents_size(); ++n) {
          fetched->add_bytes("1");
        }
        Hear(link, std::move(message));
      }
    }
  }

  const uint64_t incarnation_;
  std::unique_ptr<SimRegion> region_;
  std::unique_ptr<LogRing> ring_;
  NodeRecord record_;
  std::unique_ptr<SimRegion> scrub_region_;
  ScrubRecord scrub_record_;
  FakeHeap heap_;
  std::unique_ptr<ChainCore> core_;
  std::vector<ChainMessage> sent_;
  absl::Time now_ = absl::UnixEpoch();
  absl::Status fatal_;
};

// The final states after each crash that are not `expected`.
std::vector<std::string> CrashAtEachDrain(
    bool whole, const std::vector<std::string>& members,
    const std::string& expected) {
  std::vector<Disk> disks;
  DivergedNode first(nullptr, 1, whole);
  first.Watch(&disks);
  first.Lead(2, members);
  EXPECT_EQ(first.Text(), expected);
  EXPECT_GT(disks.size(), 4 * kSeeds);
  std::vector<std::string> wrong;
  for (const Disk& disk : disks) {
    DivergedNode again(&disk, 2, whole);
    const Condition condition = again.core().soundness().condition();
    again.Lead(3, members);
    if (condition == Condition::kReceiving) {
      wrong.push_back("its data are void");
    } else if (!again.fatal().ok()) {
      wrong.push_back(std::string(again.fatal().message()));
    } else if (again.Text() != expected) {
      wrong.push_back(again.Text());
    }
  }
  return wrong;
}

TEST(DivergenceCrashTest, ALoneNodeKeepsItsOwnResult) {
  EXPECT_EQ(CrashAtEachDrain(true, {"n2"}, "2/2 a=2 b=2"),
            std::vector<std::string>());
}

TEST(DivergenceCrashTest, AHeadWithASuccessorKeepsItsOwnResult) {
  EXPECT_EQ(CrashAtEachDrain(true, {"n2", "n3"}, "2/2 a=2 b=2"),
            std::vector<std::string>());
}

TEST(DivergenceCrashTest, ADroppedLastCopyIsDetected) {
  faults::Planted fault("divergence-drops-the-entry-first");
  EXPECT_NE(CrashAtEachDrain(true, {"n2"}, "2/2 a=2 b=2"),
            std::vector<std::string>());
}

// Torn until the successor has rolled it back, which a crash may interrupt. The
// node that leads after that crash ends whole: without the entry, or with it
// executed anew, since a head with a successor keeps its own result.
TEST(DivergenceCrashTest, AnInterruptedExecutionIsRolledBack) {
  const std::string before = "1/1 a=1 b=1";
  std::vector<Disk> disks;
  DivergedNode first(nullptr, 1, /*whole=*/false);
  EXPECT_EQ(first.core().soundness().condition(), Condition::kTorn);
  first.Watch(&disks);
  first.Lead(2, {"n2", "n3"});
  EXPECT_EQ(first.Text(), before);
  int torn = 0;
  int back = 0;
  for (const Disk& disk : disks) {
    DivergedNode again(&disk, 2, /*whole=*/false);
    const bool is_back = again.Text() == before;
    ++(is_back ? back : torn);
    EXPECT_EQ(again.core().soundness().condition(),
              is_back ? Condition::kReturned : Condition::kTorn);
    again.Lead(3, {"n2", "n3"});
    EXPECT_EQ(again.fatal(), absl::OkStatus());
    EXPECT_NE(again.core().soundness().condition(), Condition::kTorn);
    EXPECT_TRUE(again.Text() == before || again.Text() == "2/2 a=2 b=2")
        << again.Text();
  }
  EXPECT_GT(torn, 0);
  EXPECT_GT(back, 0);
}

}  // namespace
}  // namespace kamino::replica
