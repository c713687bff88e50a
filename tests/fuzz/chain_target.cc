// A node of a chain and whatever its peers say. It may take it, ignore it,
// refuse it, or stop with a status that says that it differs from its peers; it
// may not crash, nor grow without bounds.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "head/chain_node.h"
#include "head/storage.h"
#include "replica/builtins.h"
#include "tests/fuzz/chain_script.h"
#include "tests/fuzz/situations.h"
#include "tests/fuzz/targets.h"

namespace kamino::fuzz {
namespace {

using head::ChainNode;
using head::SimDisk;
using head::SimMedia;
using head::Storage;
using kamino::internal::v1::ChainMessage;
using membership::View;

// Of what one input leads to. A cut of a state transfer sends most.
constexpr size_t kMaxActions = 4096;
constexpr size_t kMaxBytes = 32u << 20;

class FuzzedNode {
 public:
  explicit FuzzedNode(const Situation& situation) : situation_(situation) {
    SimMedia media(&disk_);
    for (const auto& [part, image] : situation.snapshot.parts) {
      CHECK(media.Create(part, image.size()).ok());
      CHECK(media.Publish(part).ok());
      disk_.region(part)->Reset(image.data());
    }
    storage_ = OpenStorage();
    node_ = std::make_unique<ChainNode>(situation.snapshot.node, storage_.get(),
                                        &procedures_);
    view_ = situation.view;
    node_->OnView(view_, now_);
    EndBatch();
  }

  bool stopped() const { return stopped_; }

  void Take(const Step& step) {
    now_ += absl::Milliseconds(1);
    Input(step);
    EndBatch();
  }

  // What it leaves behind can be opened, or is refused in words.
  void StopAndOpen() {
    node_.reset();
    storage_.reset();
    disk_.Kill();
    auto storage = Storage::Open(situation_.snapshot.storage,
                                 std::make_unique<SimMedia>(&disk_));
    if (!storage.ok()) {
      CHECK(absl::IsDataLoss(storage.status())) << storage.status();
    }
  }

 private:
  std::unique_ptr<Storage> OpenStorage() {
    auto storage = Storage::Open(situation_.snapshot.storage,
                                 std::make_unique<SimMedia>(&disk_));
    CHECK(storage.ok()) << storage.status();
    return std::move(*storage);
  }

  void Input(const Step& step) {
    switch (step.kind) {
      case StepKind::kTick:
        now_ += absl::Milliseconds(20 << step.link % 8);
        return node_->OnTick(now_);
      case StepKind::kAccept:
        // The hub numbers links; a peer has no say in it.
        return;
      case StepKind::kOpened:
        if (step.link % 2 == 0) return;
        return node_->OnLinkOpened(step.link, now_);
      case StepKind::kClosed:
        return node_->OnLinkClosed(step.link, now_);
      case StepKind::kView:
        return NextView(step.link);
      case StepKind::kInvite:
        return node_->OnInvited(step.link % 2 == 1, now_);
      case StepKind::kSubmit:
        return Submit(step.link);
      case StepKind::kMessage:
        return Message(step);
    }
  }

  void Message(const Step& step) {
    ChainMessage message;
    if (!message.ParseFromString(step.message)) return;  // as the hub does
    if (!step.stale) message.set_view_id(node_->core().view().id);
    node_->OnMessage(step.link, message, now_);
  }

  // Any of the node's fellows, in their order.
  void NextView(uint8_t set) {
    View view = situation_.view;
    view.id = node_->core().view().id + 1;
    view.members.clear();
    for (size_t i = 0; i < situation_.view.members.size(); ++i) {
      if ((set >> i & 1) != 0) {
        view.members.push_back(situation_.view.members[i]);
      }
    }
    if (view.members.empty()) return;
    view_ = view;
    node_->OnView(view, now_);
  }

  void Submit(uint8_t which) {
    kamino::v1::CommitRequest commit;
    *commit.add_then_operations() =
        head::Put(absl::StrCat("key", which % 8), std::string(which, 's'));
    head::Request request;
    request.request.set_function(replica::kCommitFunction);
    request.request.set_arguments(commit.SerializeAsString());
    request.request.set_client_id(100 + which % 3);
    request.request.set_number(++requests_);
    request.done = [](head::RequestOutcome) {};
    node_->Submit(std::move(request), now_);
  }

  void EndBatch() {
    const replica::Actions actions = node_->EndOfBatch(now_);
    size_t bytes = 0;
    for (const auto& send : actions.send) bytes += send.message.ByteSizeLong();
    CHECK_LE(bytes, kMaxBytes);
    CHECK_LE(actions.send.size() + actions.open.size() + actions.close.size(),
             kMaxActions);
    const replica::OperationRing& ring = node_->core().ring();
    CHECK_LE(ring.cleaned(), ring.applied());
    CHECK_LE(ring.applied(), ring.received());
    if (actions.fatal.ok()) {
      node_->ApplyBackup(4);
      return;
    }
    stopped_ = true;
    CHECK(absl::IsDataLoss(actions.fatal) ||
          absl::IsFailedPrecondition(actions.fatal) ||
          absl::IsUnavailable(actions.fatal))
        << actions.fatal;
    CHECK(!actions.fatal.message().empty());
  }

  const Situation& situation_;
  SimDisk disk_;
  replica::ProcedureRegistry procedures_;
  std::unique_ptr<Storage> storage_;
  std::unique_ptr<ChainNode> node_;
  View view_;
  absl::Time now_ = absl::UnixEpoch();
  uint64_t requests_ = 0;
  bool stopped_ = false;
};

void Run(absl::string_view bytes) {
  const Script script = Decode(bytes);
  const auto& situations = Situations();
  FuzzedNode node(situations[script.situation % situations.size()]);
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
  }
  return seeds;
}

}  // namespace

std::string MutateScript(const std::string& input, uint64_t seed, size_t max);

Target ChainTarget() { return {"chain", Run, Seeds, MutateScript}; }

}  // namespace kamino::fuzz
