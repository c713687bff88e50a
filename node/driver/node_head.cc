#include "node/driver/node_head.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "node/driver/node_agreement.h"
#include "replica/errors.h"
#include "replica/state/restore.h"

namespace kamino::node {

using replica::MakeError;

absl::Status NodeHead::NotHead() const {
  if (context_.failed() || retiring_) return context_.Stopping();
  if (context_.core->place().is_head() &&
      !context_.core->soundness().no_damage_suspected()) {
    return MakeError(kamino::v1::REASON_RECONFIGURING,
                     "the members of the chain hold different data, and it is "
                     "undecided which node is wrong; an operator must find the "
                     "wrong node and remove it: kamino admin remove NODE");
  }
  if (context_.core->place().is_head()) {
    return MakeError(
        kamino::v1::REASON_RECONFIGURING,
        absl::StrCat(context_.options.chain.node_id,
                     " is the head, but its heap is not whole yet"));
  }
  return MakeError(
      kamino::v1::REASON_NOT_HEAD,
      absl::StrCat(context_.options.chain.node_id, " is not the head of view ",
                   context_.core->view().id));
}

absl::Status NodeHead::CheckMaySubmit() const {
  if (admission_ != nullptr && !context_.failed() &&
      context_.core->soundness().no_damage_suspected() && !retiring_) {
    return absl::OkStatus();
  }
  return context_.core->view().formed()
             ? NotHead()
             : MakeError(kamino::v1::REASON_RECONFIGURING,
                         "this node knows of no view yet");
}

void NodeHead::Submit(head::Request request, absl::Time now) {
  context_.options.doing("a request", request.mutation.client_id);
  if (absl::Status may = CheckMaySubmit(); !may.ok()) {
    return request.done({may, "", 0});
  }
  // The head checks procedures as it executes them.
  if (request.mutation.function == replica::kBeginRestoreFunction) {
    absl::Status in_force =
        CheckInForce(context_.core->view(), request.mutation.function);
    if (!in_force.ok()) return request.done({in_force, "", 0});
  }
  admission_->Submit(std::move(request), now);
}

void NodeHead::OpenSession(const head::SessionParams& params, absl::Time now,
                           head::HeadSessions::Opened done) {
  context_.options.doing("a session to be opened", params.id);
  if (absl::Status may = CheckMaySubmit(); !may.ok()) return done(may);
  admission_->sessions().Open(params, now, std::move(done));
}

void NodeHead::AskForSession(uint64_t id, uint64_t epoch, absl::Time now,
                             head::HeadSessions::Opened done,
                             const PrincipalPtr& by) {
  context_.options.doing("a session to go on with", id);
  if (absl::Status may = CheckMaySubmit(); !may.ok()) return done(may);
  admission_->sessions().Ask(id, epoch, now, std::move(done), by);
}

void NodeHead::CloseSession(uint64_t id, absl::Time now,
                            absl::AnyInvocable<void(absl::Status)> done,
                            const PrincipalPtr& by) {
  context_.options.doing("a session to be closed", id);
  if (absl::Status may = CheckMaySubmit(); !may.ok()) return done(may);
  admission_->sessions().Close(id, now, std::move(done), by);
}

void NodeHead::HearSession(uint64_t id, absl::Time now) {
  if (admission_ != nullptr) admission_->sessions().Hear(id, now);
}

std::optional<head::SessionInfo> NodeHead::FindSession(uint64_t id) const {
  if (admission_ == nullptr) return std::nullopt;
  return admission_->sessions().Find(id);
}

void NodeHead::BecomeIfDue(absl::Time now) {
  if (context_.failed() || retiring_ || holding_ || admission_ != nullptr ||
      !context_.core->place().is_head() ||
      !context_.core->soundness().ready()) {
    return;
  }
  if (absl::Status done = Become(now); !done.ok()) {
    context_.Fail(absl::Status(
        done.code(), absl::StrCat("cannot become head: ", done.message())));
  }
}

absl::Status NodeHead::Become(absl::Time now) {
  context_.options.doing("becoming the head", 0);
  auto undo_copy = context_.storage->NewUndoCopy();
  if (!undo_copy.ok()) return undo_copy.status();
  // The chain receives a transaction before the backup does.
  engine::KaminoOptions engine_options;
  engine_options.copy_at_commit = false;
  engine_options.snapshots = &context_.snapshots;
  ASSIGN_OR_RETURN(
      store_, engine::KaminoStore::Open(context_.storage->heap(),
                                        std::move(*undo_copy), engine_options));
  // From here on a restart rolls back by the undo copy.
  replica::NodeState state = context_.storage->record()->state();
  state.was_head = true;
  context_.storage->record()->Update(state);
  head::AdmissionOptions options = context_.options.admission;
  options.lease_valid = [this] {
    return context_.options.lease_valid(context_.core->view().id);
  };
  options.check_in_force = [this](absl::string_view function) {
    return CheckInForce(context_.core->view(), function);
  };
  options.executing = context_.options.doing;
  auto admission = std::make_unique<head::Admission>(
      std::move(options), store_.get(), &context_.state, context_.core);
  RETURN_IF_ERROR(admission->Promote(now, &context_.pending));
  admission_ = std::move(admission);
  return absl::OkStatus();
}

void NodeHead::StopBeing() {
  admission_.reset();
  store_.reset();
}

void NodeHead::OnView(absl::Time now) {
  if (admission_ != nullptr && !context_.core->place().is_head()) StopBeing();
  BecomeIfDue(now);
}

void NodeHead::OnTick(absl::Time now) {
  if (admission_ != nullptr) admission_->OnTick(now);
}

void NodeHead::Execute(absl::Time now) {
  BecomeIfDue(now);
  while (admission_ != nullptr && !context_.failed()) {
    if (context_.core->soundness().no_damage_suspected()) {
      admission_->ExecuteReady(now, &context_.pending);
    }
    if (!admission_->fatal().ok()) context_.Fail(admission_->fatal());
    if (!admission_->damage().ok() &&
        !context_.core->LeaveAsDamaged(admission_->damage(),
                                       &context_.pending)) {
      admission_->AnswerDamage();
    }
    if (context_.failed() || context_.pending.completed == 0) break;
    // Completion may free locks, and so make parked requests ready.
    admission_->OnCompleted(std::exchange(context_.pending.completed, 0));
    if (admission_->turn_is_over()) break;  // other members wait, too
  }
}

bool NodeHead::PropagateToUndoCopy(size_t max) {
  if (admission_ == nullptr) return false;
  context_.options.doing("bringing the undo copy up to date", 0);
  const size_t left = admission_->PropagateToUndoCopy(max);
  return left > 0 || admission_->has_ready();
}

void NodeHead::Quiesce() {
  if (store_ != nullptr) store_->Quiesce();
}

void NodeHead::Hold() {
  holding_ = true;
  if (admission_ != nullptr) admission_->Hold();
}

bool NodeHead::drained() const {
  return holding_ && (admission_ == nullptr ||
                      (admission_->stats().in_flight == 0 &&
                       context_.core->links().announcements.over()));
}

void NodeHead::Retire() {
  retiring_ = true;
  if (admission_ != nullptr) admission_->Retire();
}

bool NodeHead::retired() const {
  return retiring_ &&
         (admission_ == nullptr || context_.core->links().announcements.over());
}

void NodeHead::Stop() {
  retiring_ = true;
  StopBeing();
}

std::optional<head::AdmissionStats> NodeHead::admission_stats() const {
  if (admission_ == nullptr) return std::nullopt;
  return admission_->stats();
}

std::optional<engine::KaminoStats> NodeHead::store_stats() const {
  if (store_ == nullptr) return std::nullopt;
  return store_->stats();
}

}  // namespace kamino::node
