#include "node/rpc/backup_service.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "kamino/internal/v1/operation.pb.h"
#include "logs/log.h"
#include "node/rpc/backup_stream.h"
#include "node/rpc/status_details.h"
#include "proto/backup_records.h"
#include "replica/errors.h"
#include "replica/state/restore.h"
#include "rpc/call_counts.h"
#include "rpc/cluster_calls.h"
#include "rpc/grpc_time.h"

namespace kamino::node {
namespace {

using kamino::v1::RestoreRequest;
using kamino::v1::RestoreResponse;
using replica::MakeError;

absl::Status CheckBackupId(const std::string& id) {
  if (id.size() == kBackupIdBytes) return absl::OkStatus();
  return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                   absl::StrCat("backup_id has ", id.size(), " bytes, not ",
                                kBackupIdBytes));
}

// Checks that they fit one transaction.
absl::Status CheckRecords(absl::string_view records) {
  const size_t bytes = records.size();
  size_t count = 0;
  for (absl::string_view left = records; !left.empty(); ++count) {
    BackupRecord record;
    if (TakeBackupRecord(&left, &record)) continue;
    return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                     absl::StrCat("record ", count, " is damaged"));
  }
  if (count <= 1 || (count <= replica::kMaxRestoredObjects &&
                     bytes <= replica::kMaxRestoredBytes)) {
    return absl::OkStatus();
  }
  return MakeError(
      kamino::v1::REASON_INVALID_ARGUMENT,
      absl::StrCat(count, " objects of ", bytes, " bytes in one step; at most ",
                   replica::kMaxRestoredObjects, " of ",
                   replica::kMaxRestoredBytes));
}

}  // namespace

absl::Status BackupService::CheckMaySave(
    grpc::CallbackServerContext* context,
    const kamino::v1::SaveRequest& request) {
  RETURN_IF_ERROR(rpc::MeetClient(node_->cluster(), context));
  RETURN_IF_ERROR(CheckAsked(request.chain_id(), node_->chain_id()));
  RETURN_IF_ERROR(CheckBackupId(request.backup_id()));
  if (saves_.load() <= kMaxSaves) return absl::OkStatus();
  return MakeError(kamino::v1::REASON_OVERLOADED,
                   absl::StrCat("as many as ", kMaxSaves,
                                " backups are being saved from this node; come "
                                "again once one is done"));
}

grpc::ServerWriteReactor<kamino::v1::SaveResponse>* BackupService::Save(
    grpc::CallbackServerContext* context,
    const kamino::v1::SaveRequest* request) {
  ++saves_;
  return BackupStream::Start(node_, context, *request, patience_,
                             CheckMaySave(context, *request),
                             [this] { --saves_; });
}

std::string BackupService::LineOf(const Step& step,
                                  const absl::Status& status) const {
  const RestoreRequest& request = *step.request;
  const char* const verb = request.has_begin()    ? "began"
                           : request.has_finish() ? "finished"
                           : step.response->nothing_to_give_up()
                               ? "found nothing to give up of"
                               : "gave up";
  return absl::StrCat(
      CallerOf(*step.context), " ", verb, " a restore",
      request.has_give_up()
          ? ""
          : absl::StrCat(" of backup ",
                         absl::BytesToHexString(request.backup_id())),
      ": ", absl::StatusCodeToString(status.code()), ", mutation ",
      step.response->sequence(), ", ", restored_bytes_.load(),
      " bytes of records received by this node");
}

absl::StatusOr<replica::Mutation> BackupService::MutationOf(
    grpc::CallbackServerContext* context, const RestoreRequest& request) const {
  // The cluster that receives the restore; the backup's origin does not matter.
  RETURN_IF_ERROR(rpc::MeetClient(node_->cluster(), context));
  RETURN_IF_ERROR(CheckAsked(request.chain_id(), node_->chain_id()));
  replica::Mutation mutation;
  if (!request.has_give_up()) {
    RETURN_IF_ERROR(CheckBackupId(request.backup_id()));
  }
  switch (request.step_case()) {
    case RestoreRequest::kBegin: {
      RETURN_IF_ERROR(replica::CheckRestoreBase(request.begin().base()));
      kamino::internal::v1::BeginRestore begin;
      begin.set_backup_id(request.backup_id());
      begin.set_base(request.begin().base());
      begin.set_heap_used(request.begin().heap_used());
      mutation.function = replica::kBeginRestoreFunction;
      mutation.arguments = begin.SerializeAsString();
      return mutation;
    }
    case RestoreRequest::kRecords: {
      RETURN_IF_ERROR(CheckRecords(request.records()));
      kamino::internal::v1::RestoreObjects objects;
      objects.set_backup_id(request.backup_id());
      objects.set_records(request.records());
      mutation.function = replica::kRestoreFunction;
      mutation.arguments = objects.SerializeAsString();
      return mutation;
    }
    case RestoreRequest::kFinish: {
      kamino::internal::v1::FinishRestore finish;
      finish.set_backup_id(request.backup_id());
      mutation.function = replica::kFinishRestoreFunction;
      mutation.arguments = finish.SerializeAsString();
      return mutation;
    }
    case RestoreRequest::kGiveUp: {
      kamino::internal::v1::GiveUpRestore give_up;
      give_up.set_most(replica::kMaxGivenUp);
      mutation.function = replica::kGiveUpRestoreFunction;
      mutation.arguments = give_up.SerializeAsString();
      return mutation;
    }
    default:
      return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                       "the step of the restore is empty");
  }
}

void BackupService::Count(const Step& step) {
  if (step.request->has_begin()) restored_bytes_ = 0;
  restored_bytes_ += step.request->records().size();
}

void BackupService::Answer(const Step& step, const absl::Status& status) {
  rpc::CountServed<RestoreResponse>(status.raw_code(),
                                    node_->Now() - step.began);
  step.reactor->Finish(
      ToGrpcStatus(status, *node_->view_board().current(), node_->node_id()));
}

void BackupService::Finish(const Step& step, const absl::Status& status) {
  if (status.ok()) Count(step);
  // Giving up takes many calls; the last one has the line.
  const bool goes_on = step.request->has_give_up() && step.response->more();
  if (step.place == nullptr || (status.ok() && goes_on)) {
    return Answer(step, status);
  }
  // The core thread must not wait for the line to be written.
  audit_thread_->Continue(step.place, [this, step, status] {
    const absl::Status logged =
        logs::WriteLine(google::GLOG_INFO, LineOf(step, status));
    Answer(step, status.ok() ? logged : status);
  });
}

void BackupService::Refuse(const Step& step, const absl::Status& status) {
  logs::KeepLine(google::GLOG_INFO, LineOf(step, status)).IgnoreError();
  Answer(step, status);
}

void BackupService::Execute(const Step& step) {
  auto mutation = MutationOf(step.context, *step.request);
  if (!mutation.ok()) return Finish(step, mutation.status());
  head::Request request;
  request.mutation = *std::move(mutation);
  request.deadline = step.began + rpc::LeftUntil(step.context->raw_deadline());
  request.abandoned = [context = step.context] {
    return context->IsCancelled();
  };
  request.done = [this, step](head::RequestOutcome outcome) {
    step.response->set_chain_id(node_->chain_id());
    step.response->set_sequence(outcome.sequence);
    step.response->set_more(!outcome.result.empty());
    step.response->set_nothing_to_give_up(
        step.request->has_give_up() && outcome.status.ok() && outcome.repeated);
    Finish(step, outcome.status);
  };
  node_->Mutate(std::move(request));
}

grpc::ServerUnaryReactor* BackupService::Restore(
    grpc::CallbackServerContext* context, const RestoreRequest* request,
    RestoreResponse* response) {
  Step step{context,      request, response, context->DefaultReactor(),
            node_->Now(), nullptr};
  grpc::ServerUnaryReactor* const reactor = step.reactor;
  if (!request->has_begin() && !request->has_finish() &&
      !request->has_give_up()) {
    Execute(step);
    return reactor;
  }
  const absl::Status begun = audit_thread_->Begin(
      [this, step](const logs::AuditThread::PlacePtr& place,
                   const absl::Status& admitted) mutable {
        // A step whose line could not be written fails before it does anything.
        const absl::Status may =
            admitted.ok() ? logs::AwaitWritten() : admitted;
        if (!may.ok()) return Refuse(step, may);
        step.place = place;
        Execute(step);
      });
  if (!begun.ok()) Refuse(step, begun);
  return reactor;
}

}  // namespace kamino::node
