#include "node/driver/chain_node.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/heap/heap_reader.h"
#include "glog/logging.h"
#include "node/driver/node_agreement.h"
#include "proto/version.h"
#include "replica/clean_reader.h"
#include "replica/errors.h"

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

ChainNode::Options InModeOf(ChainNode::Options options,
                            const Storage& storage) {
  options.chain.mode = storage.options().mode;
  options.admission.pipelines = Pipelines(storage.options().mode);
  return options;
}

// The view whose tail sends every log entry to this node, which is outside.
uint64_t CaughtUpView(const replica::ChainCore& core) {
  return core.links().joiner.keeps_up() ? core.view().id : 0;
}

}  // namespace

using kamino::internal::v1::ChainMessage;
using membership::Role;
using membership::View;
using replica::Actions;
using replica::LinkId;
using replica::MakeError;

ChainNode::ChainNode(Options options, Storage* storage,
                     const replica::ProcedureRegistry* procedures)
    : options_(InModeOf(std::move(options), *storage)),
      storage_(storage),
      state_(procedures, storage->heap()->root()),
      ranges_(storage->heap(), storage->scrub_record(),
              options_.chain.scrub_range_bytes),
      snapshots_(storage->heap(), options_.snapshots),
      executor_(storage->heap(), &state_, &ranges_,
                TakesBackAlone(storage->options().mode) ? storage : nullptr,
                &snapshots_),
      copy_(
          storage,
          [this] {
            // States of blocks are flushed when the backup receives them.
            if (store_ != nullptr) store_->Quiesce();
          },
          [this] { ForgetHeap(); }),
      core_(options_.chain,
            {storage->ring(), storage->record(), &executor_, &copy_, &ranges_}),
      in_flight_(storage->ring()) {}

void ChainNode::Fail(absl::Status status) {
  if (pending_.fatal.ok()) pending_.fatal = std::move(status);
}

// --- Inputs.

void ChainNode::OnView(const View& view, absl::Time now) {
  if (failed() || view.id <= core_.view().id) return;
  options_.doing("a view", view.id);
  core_.OnView(view, now, &pending_);
  LOG(INFO) << view.ToString() << "; this node is "
            << membership::RoleName(core_.place().role()) << ", "
            << membership::ConditionName(core_.soundness().condition());
  if (admission_ != nullptr && !core_.place().is_head()) StopBeingHead();
  BecomeHeadIfDue(now);
}

void ChainNode::OnInvited(bool invited, absl::Time now) {
  if (!failed()) core_.OnInvited(invited, now, &pending_);
}

void ChainNode::BecomeHeadIfDue(absl::Time now) {
  if (failed() || retiring_ || holding_ || admission_ != nullptr ||
      !core_.place().is_head() || !core_.soundness().ready()) {
    return;
  }
  if (absl::Status done = BecomeHead(now); !done.ok()) {
    Fail(absl::Status(done.code(),
                      absl::StrCat("cannot become head: ", done.message())));
  }
}

absl::Status ChainNode::BecomeHead(absl::Time now) {
  options_.doing("becoming the head", 0);
  auto backup = storage_->NewUndoCopy();
  if (!backup.ok()) return backup.status();
  // The chain receives a transaction before the backup does.
  engine::KaminoOptions engine_options;
  engine_options.copy_at_commit = false;
  engine_options.snapshots = &snapshots_;
  ASSIGN_OR_RETURN(
      store_, engine::KaminoStore::Open(storage_->heap(), std::move(*backup),
                                        engine_options));
  // From here on a restart rolls back by the backup.
  replica::NodeState state = storage_->record()->state();
  state.was_head = true;
  storage_->record()->Update(state);
  head::AdmissionOptions options = options_.admission;
  options.lease_valid = [this] {
    return options_.lease_valid(core_.view().id);
  };
  options.check_in_force = [this](absl::string_view function) {
    return CheckInForce(core_.view(), function);
  };
  options.executing = options_.doing;
  auto admission = std::make_unique<head::Admission>(
      std::move(options), store_.get(), &state_, &core_);
  RETURN_IF_ERROR(admission->Promote(now, &pending_));
  admission_ = std::move(admission);
  return absl::OkStatus();
}

void ChainNode::StopBeingHead() {
  admission_.reset();
  store_.reset();
}

void ChainNode::OnLinkOpened(LinkId link, absl::Time now) {
  if (!failed()) core_.OnLinkOpened(link, now, &pending_);
}

void ChainNode::OnLinkClosed(LinkId link, absl::Time now) {
  if (!failed()) core_.OnLinkClosed(link, now, &pending_);
}

void ChainNode::OnMessage(LinkId link, const ChainMessage& message,
                          absl::string_view payload, absl::Time now) {
  options_.doing(KindOf(message), link);
  if (!failed()) core_.OnMessage(link, message, payload, now, &pending_);
}

void ChainNode::OnTick(absl::Time now) {
  if (failed()) return;
  core_.OnTick(now, &pending_);
  if (admission_ != nullptr) admission_->OnTick(now);
}

void ChainNode::Hold() {
  holding_ = true;
  if (admission_ != nullptr) admission_->Hold();
}

bool ChainNode::drained() const {
  return holding_ &&
         (admission_ == nullptr || (admission_->stats().in_flight == 0 &&
                                    core_.links().announcements.over()));
}

void ChainNode::Retire() {
  retiring_ = true;
  if (admission_ != nullptr) admission_->Retire();
}

void ChainNode::Stop() {
  retiring_ = true;
  StopBeingHead();
}

absl::Status ChainNode::Failed() const {
  return MakeError(kamino::v1::REASON_RECONFIGURING,
                   absl::StrCat(options_.chain.node_id, " is stopping"));
}

absl::Status ChainNode::NotHead() const {
  if (failed() || retiring_) return Failed();
  if (core_.place().is_head() && !core_.soundness().beyond_doubt()) {
    return MakeError(kamino::v1::REASON_RECONFIGURING,
                     "the members of the chain hold different data, and it is "
                     "undecided which node is wrong; an operator must find the "
                     "wrong node and remove it: kamino admin remove NODE");
  }
  if (core_.place().is_head()) {
    return MakeError(
        kamino::v1::REASON_RECONFIGURING,
        absl::StrCat(options_.chain.node_id,
                     " is the head, but its heap is not whole yet"));
  }
  return MakeError(kamino::v1::REASON_NOT_HEAD,
                   absl::StrCat(options_.chain.node_id,
                                " is not the head of view ", core_.view().id));
}

absl::Status ChainNode::CheckMaySubmit() const {
  if (admission_ != nullptr && !failed() && core_.soundness().beyond_doubt() &&
      !retiring_) {
    return absl::OkStatus();
  }
  return core_.view().formed() ? NotHead()
                               : MakeError(kamino::v1::REASON_RECONFIGURING,
                                           "this node knows of no view yet");
}

void ChainNode::Submit(head::Request request, absl::Time now) {
  options_.doing("a request", request.mutation.client_id);
  if (absl::Status may = CheckMaySubmit(); !may.ok()) {
    return request.done({may, "", 0});
  }
  admission_->Submit(std::move(request), now);
}

void ChainNode::OpenSession(const head::SessionParams& params, absl::Time now,
                            head::HeadSessions::Opened done) {
  options_.doing("a session to be opened", params.id);
  if (absl::Status may = CheckMaySubmit(); !may.ok()) return done(may);
  admission_->sessions().Open(params, now, std::move(done));
}

void ChainNode::AskForSession(uint64_t id, uint64_t epoch, absl::Time now,
                              head::HeadSessions::Opened done,
                              const PrincipalPtr& by) {
  options_.doing("a session to go on with", id);
  if (absl::Status may = CheckMaySubmit(); !may.ok()) return done(may);
  admission_->sessions().Ask(id, epoch, now, std::move(done), by);
}

void ChainNode::CloseSession(uint64_t id, absl::Time now,
                             absl::AnyInvocable<void(absl::Status)> done,
                             const PrincipalPtr& by) {
  options_.doing("a session to be closed", id);
  if (absl::Status may = CheckMaySubmit(); !may.ok()) return done(may);
  admission_->sessions().Close(id, now, std::move(done), by);
}

void ChainNode::HearSession(uint64_t id, absl::Time now) {
  if (admission_ != nullptr) admission_->sessions().Hear(id, now);
}

std::optional<head::SessionInfo> ChainNode::FindSession(uint64_t id) const {
  if (admission_ == nullptr) return std::nullopt;
  return admission_->sessions().Find(id);
}

Actions ChainNode::EndOfBatch(absl::Time now) {
  BecomeHeadIfDue(now);
  while (admission_ != nullptr && !failed()) {
    if (core_.soundness().beyond_doubt())
      admission_->ExecuteReady(now, &pending_);
    if (!admission_->fatal().ok()) Fail(admission_->fatal());
    if (!admission_->damage().ok() &&
        !core_.LeaveAsDamaged(admission_->damage(), &pending_)) {
      admission_->AnswerDamage();
    }
    if (failed() || pending_.completed == 0) break;
    // Completion may free locks, and so make parked requests ready.
    admission_->OnCompleted(std::exchange(pending_.completed, 0));
    if (admission_->turn_is_over()) break;  // other members wait, too
  }
  if (!failed()) core_.EndOfBatch(now, &pending_);
  Actions actions = std::exchange(pending_, Actions());
  if (actions.fatal.ok()) return actions;
  failed_ = true;
  Actions last;
  last.fatal = std::move(actions.fatal);
  return last;
}

bool ChainNode::PropagateToBackup(size_t max) {
  if (failed()) return false;
  replica::LocalUndo* const undo = storage_->local_undo();
  if (undo == nullptr && admission_ == nullptr) return false;
  options_.doing("bringing the undo copy up to date", 0);
  if (undo != nullptr) return undo->Propagate(max);
  const size_t left = admission_->PropagateToBackup(max);
  return left > 0 || admission_->has_ready();
}

bool ChainNode::Summarize() {
  if (failed() || cannot_summarize_ || !core_.soundness().heap_whole())
    return false;
  options_.doing("summing up the index", 0);
  engine::HeapReader reader(storage_->heap());
  auto done = state_.Summarize(reader, kSummarizeObjects);
  if (done.ok()) return !*done;
  if (!absl::IsUnavailable(done.status())) {  // it is not formatted yet
    // Range comparisons then read the tree themselves.
    LOG(ERROR) << "the index cannot be summarized: " << done.status();
    cannot_summarize_ = true;
  }
  return false;
}

// --- Reads.

absl::Status ChainNode::CheckMayRead(ReadAt at) const {
  if (failed()) return Failed();
  if (!core_.view().formed()) {
    return MakeError(kamino::v1::REASON_RECONFIGURING,
                     "this node knows of no view yet");
  }
  const bool may_be_asked =
      at == ReadAt::kAnyReplica && core_.place().role() != Role::kOutside;
  if (!core_.place().is_tail() && !may_be_asked) {
    return MakeError(
        kamino::v1::REASON_NOT_TAIL,
        absl::StrCat(options_.chain.node_id, " is not the tail of view ",
                     core_.view().id));
  }
  if (!core_.soundness().ready()) {
    return MakeError(kamino::v1::REASON_RECONFIGURING,
                     absl::StrCat(options_.chain.node_id,
                                  " may lack what the chain has acknowledged"));
  }
  if (!options_.lease_valid(core_.view().id)) {
    return MakeError(kamino::v1::REASON_RECONFIGURING,
                     absl::StrCat(options_.chain.node_id,
                                  " holds no lease of the manager now"));
  }
  return absl::OkStatus();
}

absl::Status ChainNode::Read(const KeyScope* scope, Reading read, ReadAt at) {
  if (at == ReadAt::kAnyReplica && !core_.place().is_tail()) {
    return ReadIfClean(scope, read);
  }
  RETURN_IF_ERROR(CheckMayRead());
  engine::HeapReader reader(storage_->heap());
  auto objects = state_.Objects(reader, scope);
  absl::Status status = objects.ok() ? read(*objects) : objects.status();
  // If no other node is known to hold the object, the client gets this error.
  // Another node may hold it at the next read.
  if (absl::IsDataLoss(status) &&
      replica::ReasonOf(status) == kamino::v1::REASON_UNSPECIFIED) {
    (void)core_.LeaveAsDamaged(status, &pending_);
  }
  // The answer counts as of now: no other node can have served in between.
  RETURN_IF_ERROR(CheckMayRead());
  ++read_stats_.answered;
  return status;
}

absl::Status ChainNode::ReadIfClean(const KeyScope* scope, Reading read) {
  RETURN_IF_ERROR(CheckMayRead(ReadAt::kAnyReplica));
  engine::HeapReader heap(storage_->heap());
  replica::CleanReader reader(&heap, &in_flight_);
  absl::Status status =
      MakeError(kamino::v1::REASON_NOT_CLEAN,
                "too many mutations are under way to tell whether the "
                "requested data is clean; ask the tail");
  if (in_flight_.CatchUp()) {
    auto objects = state_.Objects(reader, scope);
    status = objects.ok() ? read(*objects) : objects.status();
    if (reader.met_in_flight()) {
      status = MakeError(kamino::v1::REASON_NOT_CLEAN,
                         absl::StrCat("a mutation of the requested data is "
                                      "under way; ask the tail of view ",
                                      core_.view().id));
    }
  }
  if (absl::IsDataLoss(status)) {
    // As at the tail, to which the client turns: it may hold the object.
    if (replica::ReasonOf(status) == kamino::v1::REASON_UNSPECIFIED) {
      (void)core_.LeaveAsDamaged(status, &pending_);
    }
    status = MakeError(kamino::v1::REASON_NOT_CLEAN, status.message());
  }
  // The chain cannot have gone on without this node meanwhile.
  RETURN_IF_ERROR(CheckMayRead(ReadAt::kAnyReplica));
  ++(replica::ReasonOf(status) == kamino::v1::REASON_NOT_CLEAN
         ? read_stats_.not_clean
         : read_stats_.clean);
  return status;
}

membership::NodeReport ChainNode::report() const {
  membership::NodeReport report;
  report.view_id = core_.view().id;
  report.view_digest = core_.view().digest;
  const replica::NodeState& state = storage_->record()->state();
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
  report.append_debt = core_.progress().append_debt();
  report.completion_debt = core_.progress().completion_debt();
  if (const replica::TransferStats transfer = core_.transfer();
      transfer.sending) {
    report.transfer_pass = transfer.pass;
    report.transfer_bytes_left = transfer.bytes_left;
    report.transfer_pages = transfer.of_changes ? transfer.pages : 0;
  }
  return report;
}

ChainNode::Standing ChainNode::standing() const {
  return {storage_->record()->serial(), core_.view().id,
          core_.soundness().condition(), CaughtUpView(core_)};
}

std::optional<head::AdmissionStats> ChainNode::admission_stats() const {
  if (admission_ == nullptr) return std::nullopt;
  return admission_->stats();
}

std::optional<engine::KaminoStats> ChainNode::store_stats() const {
  if (store_ == nullptr) return std::nullopt;
  return store_->stats();
}

}  // namespace kamino::node
