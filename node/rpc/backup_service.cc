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
#include "replica/restore.h"
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

// That they fit one transaction.
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
  RETURN_IF_ERROR(rpc::MeetCaller(node_->cluster(), context));
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

absl::Status BackupService::NoteStep(const RestoreRequest& request,
                                     const RestoreResponse& response,
                                     const std::string& by,
                                     const absl::Status& status) {
  const char* step = "";
  switch (request.step_case()) {
    case RestoreRequest::kBegin:
      if (status.ok()) restored_bytes_ = 0;
      step = "began";
      break;
    case RestoreRequest::kRecords:
      if (status.ok()) restored_bytes_ += request.records().size();
      return absl::OkStatus();  // there are many
    case RestoreRequest::kFinish:
      step = "finished";
      break;
    case RestoreRequest::kGiveUp:
      if (status.ok() && response.more()) return absl::OkStatus();  // likewise
      step = "gave up";
      break;
    default:
      return absl::OkStatus();
  }
  // On the core thread, which must not wait for the line to be written.
  return logs::KeepLine(
      google::GLOG_INFO,
      absl::StrCat(by, " ", step, " a restore",
                   request.has_give_up()
                       ? ""
                       : absl::StrCat(" of backup ", absl::BytesToHexString(
                                                         request.backup_id())),
                   ": ", absl::StatusCodeToString(status.code()), ", mutation ",
                   response.sequence(), ", ", restored_bytes_.load(),
                   " bytes of records by this node"));
}

absl::StatusOr<replica::Mutation> BackupService::MutationOf(
    grpc::CallbackServerContext* context, const RestoreRequest& request) const {
  // The cluster that takes the restore; where the backup is from does not
  // matter.
  RETURN_IF_ERROR(rpc::MeetCaller(node_->cluster(), context));
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

grpc::ServerUnaryReactor* BackupService::Restore(
    grpc::CallbackServerContext* context, const RestoreRequest* request,
    RestoreResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const absl::Time began = node_->Now();
  const auto finish = [this, context, request, response, reactor,
                       began](const absl::Status& status) {
    const absl::Status logged =
        NoteStep(*request, *response, CallerOf(*context), status);
    const absl::Status& told = status.ok() ? logged : status;
    rpc::CountServed<RestoreResponse>(told.raw_code(), node_->Now() - began);
    reactor->Finish(
        ToGrpcStatus(told, *node_->view_board().current(), node_->node_id()));
  };
  // A step whose line could not be written fails before it does anything.
  if (!request->has_records()) {
    const absl::Status taken = logs::AwaitWritten();
    if (!taken.ok()) {
      finish(taken);
      return reactor;
    }
  }
  auto mutation = MutationOf(context, *request);
  if (!mutation.ok()) {
    finish(mutation.status());
    return reactor;
  }
  head::Request step;
  step.mutation = *std::move(mutation);
  step.deadline = began + rpc::LeftUntil(context->raw_deadline());
  step.abandoned = [context] { return context->IsCancelled(); };
  step.done = [this, response, finish](head::RequestOutcome outcome) {
    response->set_chain_id(node_->chain_id());
    response->set_sequence(outcome.sequence);
    response->set_more(!outcome.result.empty());
    finish(outcome.status);
  };
  node_->Mutate(std::move(step));
  return reactor;
}

}  // namespace kamino::node
