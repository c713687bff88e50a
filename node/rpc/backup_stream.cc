#include "node/rpc/backup_stream.h"

#include <pthread.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "logs/log.h"
#include "node/rpc/call_ender.h"
#include "node/rpc/status_details.h"
#include "rpc/call_counts.h"
#include "rpc/call_guard.h"

namespace kamino::node {
namespace {

using kamino::v1::SaveResponse;

}  // namespace

std::string CallerOf(const grpc::CallbackServerContext& context) {
  const std::string who = rpc::IdentityOf(context);
  return absl::StrCat(who.empty() ? "a caller without a certificate" : who,
                      " from ", rpc::PeerAddressOf(context));
}

BackupStream* BackupStream::Start(Node* node,
                                  grpc::CallbackServerContext* context,
                                  const kamino::v1::SaveRequest& request,
                                  absl::Duration patience,
                                  const absl::Status& may,
                                  std::function<void()> over) {
  auto* stream =
      new BackupStream(node, context, request, patience, std::move(over));
  if (may.ok()) {
    stream->thread_ = std::thread([stream] { stream->Run(); });
  } else {
    // This thread is gRPC's, and must not wait for the line.
    stream->FinishWith(
        may, logs::KeepLine(google::GLOG_INFO, stream->LineOfEnd(may)));
  }
  return stream;
}

void BackupStream::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  sending_ = false;
  if (!ok) broken_ = true;
}

void BackupStream::OnCancel() {
  absl::MutexLock lock(&mutex_);
  broken_ = true;
}

void BackupStream::OnDone() {
  if (thread_.joinable()) thread_.join();
  over_();
  delete this;
}

void BackupStream::Run() {
  pthread_setname_np(pthread_self(), "backup");
  // An operator's call whose line cannot be written fails.
  absl::Status status = logs::WriteLine(
      google::GLOG_INFO, absl::StrCat(by_, " begins saving ", What()));
  if (status.ok()) status = Save();
  reader_.Close();
  absl::Status sent = AwaitSent();
  if (status.ok()) status = sent;
  if (status.ok() && !request_.hash_only()) {
    node_->meters().backups.Note(reader_.bytes(), node_->Now());
  }
  FinishWith(status, logs::WriteLine(google::GLOG_INFO, LineOfEnd(status)));
}

absl::Status BackupStream::Save() {
  Part first;
  RETURN_IF_ERROR(reader_.Open(first.mutable_header()));
  RETURN_IF_ERROR(Send(std::move(first)));
  RETURN_IF_ERROR(SendObjects());
  Part last;
  reader_.FillTrailer(last.mutable_trailer());
  return Send(std::move(last));
}

absl::Status BackupStream::SendObjects() {
  while (!reader_.done()) {
    Part next;
    std::string records;
    RETURN_IF_ERROR(reader_.Read(&records, [this] { return IsBroken(); }));
    if (request_.hash_only()) {
      next.set_passed(reader_.objects());
    } else if (records.empty()) {
      break;
    } else {
      next.set_records(std::move(records));
    }
    RETURN_IF_ERROR(Send(std::move(next)));
  }
  return absl::OkStatus();
}

bool BackupStream::IsBroken() {
  absl::MutexLock lock(&mutex_);
  return broken_;
}

absl::Status BackupStream::AwaitSent() {
  bool overdue = false;
  {
    absl::MutexLock lock(&mutex_);
    const auto sent = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return !sending_;
    };
    overdue = !mutex_.AwaitWithTimeout(absl::Condition(&sent), patience_);
  }
  if (overdue) return EndUntaken();
  if (unsent_ != 0) {
    node_->meters().reads.RemoveAnswer(std::exchange(unsent_, 0));
  }
  absl::MutexLock lock(&mutex_);
  return broken_ ? absl::CancelledError("cancelled") : absl::OkStatus();
}

absl::Status BackupStream::EndUntaken() {
  const absl::Status why = absl::ResourceExhaustedError(absl::StrCat(
      "the client has taken nothing of the backup for ",
      absl::FormatDuration(patience_),
      "; begin again, and write the backup to a faster destination"));
  EnderOf(context_, std::string(why.message()))();
  absl::MutexLock lock(&mutex_);
  const auto given_back = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !sending_;
  };
  mutex_.Await(absl::Condition(&given_back));
  if (unsent_ != 0) {
    node_->meters().reads.RemoveAnswer(std::exchange(unsent_, 0));
  }
  return why;
}

absl::Status BackupStream::Send(Part part) {
  RETURN_IF_ERROR(AwaitSent());
  sent_ = std::move(part);
  // It has its own time limit.
  unsent_ = node_->meters().reads.AddAnswer(
      peer_, static_cast<int64_t>(sent_.ByteSizeLong()), node_->Now(),
      /*end=*/nullptr);
  {
    absl::MutexLock lock(&mutex_);
    sending_ = true;
  }
  StartWrite(&sent_);
  return absl::OkStatus();
}

std::string BackupStream::What() const {
  return absl::StrCat(request_.hash_only() ? "the hash of backup " : "backup ",
                      absl::BytesToHexString(request_.backup_id()));
}

std::string BackupStream::LineOfEnd(const absl::Status& status) const {
  return absl::StrCat(by_, " has finished saving ", What(), ": ",
                      absl::StatusCodeToString(status.code()), ", mutation ",
                      reader_.sequence(), ", ", reader_.bytes(),
                      " bytes of records");
}

void BackupStream::FinishWith(absl::Status status, const absl::Status& logged) {
  if (status.ok()) status = logged;
  rpc::CountServed<SaveResponse>(status.raw_code(), node_->Now() - began_);
  Finish(
      ToGrpcStatus(status, *node_->view_board().current(), node_->node_id()));
}

}  // namespace kamino::node
