// A node's core with the ring and the heap that a restart found; the test plays
// the other nodes.
#ifndef KAMINO_TESTS_REPLICA_RESTARTED_CORE_H_
#define KAMINO_TESTS_REPLICA_RESTARTED_CORE_H_

#include <memory>
#include <string>
#include <vector>

#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"
#include "replica/core/chain_core.h"
#include "replica/state/scrub_record.h"
#include "tests/replica/fake_heap.h"
#include "tests/replica/text_entry.h"

namespace kamino::replica {

// n2.
class Restarted {
 public:
  static constexpr size_t kBytes = LogRing::kMinTinyBytes;

  explicit Restarted(ChainMode mode)
      : mode_(mode),
        region_(kBytes),
        ring_(*LogRing::Create(&region_, {}, kBytes, mode)),
        record_(&region_),
        scrub_region_(4096),
        scrub_record_(&scrub_region_, 0),
        heap_(ring_.get(), &record_, &scrub_record_) {
    state_.incarnation = state_.view_id = 1;
    state_.condition = membership::Condition::kSound;
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
    core_ = std::make_unique<ChainCore>(
        options, ChainStorage{ring_.get(), &record_, &heap_, &heap_});
  }

  void Install(const std::vector<std::string>& members) {
    membership::View view{"c", core_->view().id + 2, {}};
    for (const std::string& name : members) {
      membership::Member member;
      member.node_id = name;
      member.incarnation = 1;
      view.members.push_back(member);
    }
    Act([&](Actions* actions) { core_->OnView(view, now_, actions); });
  }

  void Hear(LinkId link, internal::v1::ChainMessage message) {
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
  engine::SimRegion region_;
  std::unique_ptr<LogRing> ring_;
  NodeRecord record_;
  NodeState state_;
  engine::SimRegion scrub_region_;
  ScrubRecord scrub_record_;
  FakeHeap heap_;
  std::unique_ptr<ChainCore> core_;
  absl::Time now_ = absl::UnixEpoch();
  LinkId append_ = kNoLink;  // to the successor
  int fetches_ = 0;
  absl::Status fatal_;
};

}  // namespace kamino::replica

#endif  // KAMINO_TESTS_REPLICA_RESTARTED_CORE_H_
