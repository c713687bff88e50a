#include "node/driver/chain_node.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/heap/heap_reader.h"
#include "glog/logging.h"
#include "proto/version.h"

namespace kamino::node {
namespace {

// Records and pages that one call of Summarize examines.
constexpr uint64_t kSummarizeObjects = 2048;

using KindNames = std::vector<std::string>;  // by message_case

KindNames NamesOfKinds() {
  const auto* kinds =
      kamino::internal::v1::ChainMessage::descriptor()->FindOneofByName(
          "message");
  KindNames names = {"an empty message"};
  for (int i = 0; i < kinds->field_count(); ++i) {
    const auto number = static_cast<size_t>(kinds->field(i)->number());
    names.resize(std::max(names.size(), number + 1));
    names[number] = kinds->field(i)->name();
  }
  return names;
}

absl::string_view KindOf(const kamino::internal::v1::ChainMessage& message) {
  // Looking them up each time would slow every message down.
  static const KindNames* const kNames = new KindNames(NamesOfKinds());
  return (*kNames)[message.message_case()];
}

// The view whose tail sends every log entry to this node, which is outside.
uint64_t CaughtUpView(const replica::ChainCore& core) {
  return core.links().joiner.keeps_up() ? core.view().id : 0;
}

}  // namespace

using kamino::internal::v1::ChainMessage;
using membership::View;
using replica::Actions;
using replica::LinkId;

ChainNode::ChainNode(Options options, Storage* storage,
                     const replica::ProcedureRegistry* procedures)
    : context_(std::move(options), storage, procedures),
      copy_(
          storage,
          // States of blocks are flushed when the backup receives them.
          [this] { head_.Quiesce(); },
          [this] {  // the heap is replaced by another one
            context_.state.Forget();
            context_.snapshots.EndAll(
                "this node receives the chain's heap anew");
          }),
      core_(context_.options.chain,
            {storage->ring(), storage->record(), &context_.executor, &copy_,
             &context_.ranges}),
      reads_(&context_),
      snapshots_(&context_, &reads_),
      head_(&context_) {
  context_.core = &core_;
}

// --- Inputs.

void ChainNode::OnView(const View& view, absl::Time now) {
  if (context_.failed() || view.id <= core_.view().id) return;
  context_.options.doing("a view", view.id);
  core_.OnView(view, now, &context_.pending);
  LOG(INFO) << view.ToString() << "; this node is "
            << membership::RoleName(core_.place().role()) << ", "
            << membership::ConditionName(core_.soundness().condition());
  head_.OnView(now);
}

void ChainNode::OnInvited(bool invited, absl::Time now) {
  if (!context_.failed()) core_.OnInvited(invited, now, &context_.pending);
}

void ChainNode::OnLinkOpened(LinkId link, absl::Time now) {
  if (!context_.failed()) core_.OnLinkOpened(link, now, &context_.pending);
}

void ChainNode::OnLinkClosed(LinkId link, absl::Time now) {
  if (!context_.failed()) core_.OnLinkClosed(link, now, &context_.pending);
}

void ChainNode::OnMessage(LinkId link, const ChainMessage& message,
                          absl::string_view payload, absl::Time now) {
  context_.options.doing(KindOf(message), link);
  if (!context_.failed()) {
    core_.OnMessage(link, message, payload, now, &context_.pending);
  }
}

void ChainNode::OnTick(absl::Time now) {
  if (context_.failed()) return;
  core_.OnTick(now, &context_.pending);
  head_.OnTick(now);
}

Actions ChainNode::EndOfBatch(absl::Time now) {
  head_.Execute(now);
  if (!context_.failed()) core_.EndOfBatch(now, &context_.pending);
  Actions actions = std::exchange(context_.pending, Actions());
  if (actions.fatal.ok()) return actions;
  context_.has_failed = true;
  Actions last;
  last.fatal = std::move(actions.fatal);
  return last;
}

bool ChainNode::PropagateToUndoCopy(size_t max) {
  if (context_.failed()) return false;
  replica::LocalUndo* const undo = context_.storage->local_undo();
  if (undo == nullptr) return head_.PropagateToUndoCopy(max);
  context_.options.doing("bringing the undo copy up to date", 0);
  return undo->Propagate(max);
}

bool ChainNode::Summarize() {
  if (context_.failed() || cannot_summarize_ ||
      !core_.soundness().heap_whole()) {
    return false;
  }
  context_.options.doing("summing up the index", 0);
  engine::HeapReader reader(context_.storage->heap());
  auto done = context_.state.Summarize(reader, kSummarizeObjects);
  if (done.ok()) return !*done;
  if (!absl::IsUnavailable(done.status())) {  // it is not formatted yet
    // Range comparisons then read the tree themselves.
    LOG(ERROR) << "the index cannot be summarized: " << done.status();
    cannot_summarize_ = true;
  }
  return false;
}

membership::NodeReport ChainNode::report() const {
  membership::NodeReport report;
  report.view_id = core_.view().id;
  report.view_digest = core_.view().digest;
  const replica::NodeState& state = context_.storage->record()->state();
  report.view_epoch = core_.view().epoch;
  report.member_view = state.view_id;
  report.restarts = state.restarts;
  report.release = kVersion;
  report.heap_id = replica::BytesOf(state.heap_id);
  if (state.condition != membership::Condition::kReceiving) {
    report.cluster_uuid = replica::BytesOf(state.cluster_uuid);
    report.epoch = state.epoch;
  }
  report.condition = core_.soundness().condition();
  report.caught_up_view = CaughtUpView(core_);
  const replica::LogRing& ring = core_.ring();
  report.cursors = {ring.received(), ring.applied(), ring.cleaned()};
  report.disputed = core_.soundness().disputed();
  report.append_wait = core_.progress().append_wait();
  report.completion_wait = core_.progress().completion_wait();
  if (const replica::TransferStats transfer = core_.transfer();
      transfer.sending) {
    report.transfer_pass = transfer.pass;
    report.transfer_bytes_left = transfer.bytes_left;
    report.transfer_pages = transfer.of_changes ? transfer.pages : 0;
  }
  return report;
}

ChainNode::Standing ChainNode::standing() const {
  return {context_.storage->record()->serial(), core_.view().id,
          core_.soundness().condition(), CaughtUpView(core_)};
}

}  // namespace kamino::node
