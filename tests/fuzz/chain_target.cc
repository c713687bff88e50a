// A node of a chain and arbitrary messages of its peers. The node may take
// them, ignore them, refuse them, or stop with a status that says that it
// differs from its peers; it may not crash, nor grow without bounds. In another
// mode every peer is a stranger with a certificate: then the node goes on, and
// only tells each that it is turned away.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "node/driver/node.h"
#include "node/storage/storage.h"
#include "replica/builtins.h"
#include "replica/link/chain_frame.h"
#include "tests/fuzz/chain_script.h"
#include "tests/fuzz/scripted_links.h"
#include "tests/fuzz/situations.h"
#include "tests/fuzz/targets.h"
#include "tests/node/driver/fixed_views.h"
#include "tests/node/driver/manual_executor.h"

namespace kamino::fuzz {
namespace {

using membership::View;
using node::ChainNode;
using node::ManualExecutor;
using node::Node;
using node::SimDisk;
using node::SimMedia;
using node::Storage;

// Limits of the node's output for one input. A cut of a state transfer sends
// most.
constexpr size_t kMaxCalls = 4096;
constexpr size_t kMaxBytes = 32u << 20;

class FuzzedNode {
 public:
  FuzzedNode(const Situation& situation, bool strangers)
      : situation_(situation), strangers_(strangers) {
    if (strangers_) links_.SetStranger("kamino://rig/node/stranger");
    SimMedia media(&disk_);
    for (const auto& [part, image] : situation.snapshot.parts) {
      CHECK(media.Create(part, image.size()).ok());
      CHECK(media.Publish(part).ok());
      disk_.region(part)->Reset(image.data());
    }
    auto storage = Storage::Open(situation_.snapshot.storage,
                                 std::make_unique<SimMedia>(&disk_));
    CHECK(storage.ok()) << storage.status();
    node::NodeOptions options = situation.snapshot.node;
    options.links.offers = {{links_.Transports(), "here"}};
    options.links.knows_peers = strangers_;
    auto node = Node::Create(std::move(options), Runtime(), *std::move(storage),
                             &procedures_, &views_, Events());
    CHECK(node.ok()) << node.status();
    node_ = *std::move(node);
    CHECK(node_->Join("here").ok());
    views_.callbacks.on_view(situation.view);
    RunBatch();
  }

  bool stopped() const { return stopped_; }

  void Take(const Step& step) {
    now_ += absl::Milliseconds(1);
    // Links that the node has opened are with members.
    const bool of_stranger =
        strangers_ && step.kind == StepKind::kMessage && step.link % 2 == 0;
    if (strangers_ && step.kind == StepKind::kMessage && !of_stranger) return;
    Input(step);
    RunBatch();
    CHECK(!of_stranger || !stopped_) << "by a stranger's message";
  }

  // The files that it leaves behind can be opened, or are refused with a
  // message.
  void StopAndOpen() {
    node_.reset();
    disk_.Kill();
    auto storage = Storage::Open(situation_.snapshot.storage,
                                 std::make_unique<SimMedia>(&disk_));
    if (!storage.ok()) {
      CHECK(absl::IsDataLoss(storage.status())) << storage.status();
    }
  }

 private:
  node::NodeRuntime Runtime() {
    node::NodeRuntime runtime;
    runtime.clock = [this] { return now_; };
    auto executor = std::make_unique<ManualExecutor>();
    executor_ = executor.get();
    runtime.executor = std::move(executor);
    runtime.propagation_step = [] { return size_t{4}; };
    return runtime;
  }

  Node::Events Events() {
    Node::Events events;
    events.fatal = [this](const absl::Status& why) {
      stopped_ = true;
      CHECK(absl::IsDataLoss(why) || absl::IsFailedPrecondition(why) ||
            absl::IsUnavailable(why))
          << why;
      CHECK(!why.message().empty());
    };
    events.role = [](membership::Role, bool) {};
    return events;
  }

  void Input(const Step& step) {
    switch (step.kind) {
      case StepKind::kTick:
        now_ += absl::Milliseconds(20 << step.link % 8);
        return executor_->Tick();
      case StepKind::kAccept:
        // The hub numbers links; a peer has no say in it.
        return links_.Accept();
      case StepKind::kOpened:
        return links_.Establish(step.link);
      case StepKind::kClosed:
        return links_.Break(step.link);
      case StepKind::kView:
        return NextView(step.link);
      case StepKind::kInvite:
        return views_.callbacks.on_invited(step.link % 2 == 1);
      case StepKind::kSubmit:
        return Submit(step.link);
      case StepKind::kMessage:
        return Message(step);
    }
  }

  const replica::ChainCore& core() { return node_->chain_node().core(); }

  void Message(const Step& step) {
    auto frame = replica::DecodeFrame(step.message);
    if (step.stale || !frame.ok()) {
      return links_.Message(step.link, step.message);
    }
    frame->message.set_view_id(core().view().id);
    links_.Message(step.link, replica::EncodeFrameHead(frame->message) +
                                  std::string(frame->payload));
  }

  // Any of the node's fellows, in their order.
  void NextView(uint8_t set) {
    View view = situation_.view;
    view.id = core().view().id + 1;
    view.members.clear();
    for (size_t i = 0; i < situation_.view.members.size(); ++i) {
      if ((set >> i & 1) != 0) {
        view.members.push_back(situation_.view.members[i]);
      }
    }
    if (!view.members.empty()) views_.callbacks.on_view(view);
  }

  void Submit(uint8_t which) {
    kamino::v1::CommitRequest commit;
    *commit.add_then_operations() =
        node::Put(absl::StrCat("key", which % 8), std::string(which, 's'));
    head::Request request;
    request.mutation.function = replica::kCommitFunction;
    request.mutation.arguments = commit.SerializeAsString();
    request.mutation.client_id = 100 + which % 3;
    request.mutation.number = ++requests_;
    request.done = [](head::RequestOutcome) {};
    node_->Mutate(std::move(request));
  }

  void RunBatch() {
    executor_->RunBatch();
    const ScriptedLinks::Done done = links_.TakeDone();
    CHECK_LE(done.bytes, kMaxBytes);
    CHECK_LE(done.calls, kMaxCalls);
    const replica::LogRing& ring = core().ring();
    CHECK_LE(ring.cleaned(), ring.applied());
    CHECK_LE(ring.applied(), ring.received());
    links_.Settle();
  }

  const Situation& situation_;
  const bool strangers_;
  SimDisk disk_;
  replica::ProcedureRegistry procedures_;
  node::FixedViews views_;
  ScriptedLinks links_;
  ManualExecutor* executor_ = nullptr;  // the node's
  std::unique_ptr<Node> node_;
  absl::Time now_ = absl::UnixEpoch();
  uint64_t requests_ = 0;
  bool stopped_ = false;
};

void Run(absl::string_view bytes) {
  const Script script = Decode(bytes);
  const auto& situations = Situations();
  FuzzedNode node(situations[script.situation % situations.size()],
                  script.situation / situations.size() % 2 == 1);
  for (const Step& step : script.steps) {
    if (node.stopped()) break;
    node.Take(step);
  }
  node.StopAndOpen();
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const Situation& situation : Situations()) {
    seeds.push_back(Encode(situation.script));
    Script by_strangers = situation.script;
    by_strangers.situation += Situations().size();
    seeds.push_back(Encode(by_strangers));
  }
  return seeds;
}

}  // namespace

std::string MutateScript(const std::string& input, uint64_t seed, size_t max);

Target ChainTarget() { return {"chain", Run, Seeds, MutateScript}; }

}  // namespace kamino::fuzz
