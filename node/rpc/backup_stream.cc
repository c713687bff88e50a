#include "node/rpc/backup_stream.h"

#include <pthread.h>

#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "logs/log.h"
#include "membership/records.h"
#include "node/rpc/call_ender.h"
#include "node/rpc/status_details.h"
#include "proto/version.h"
#include "rpc/call_counts.h"
#include "rpc/call_guard.h"

namespace kamino::node {
namespace {

using kamino::v1::SaveResponse;

constexpr size_t kMessageBytes = 1u << 20;

// The result of a task on the core thread. If a stopping node drops the task,
// that is the result.
class Answer {
 public:
  absl::Status Await() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&given_));
    return status_;
  }
  void Give(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    if (given_) return;
    status_ = std::move(status);
    given_ = true;
  }

 private:
  absl::Mutex mutex_;
  bool given_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

class Promise {
 public:
  explicit Promise(std::shared_ptr<Answer> answer)
      : answer_(std::move(answer)) {}
  Promise(Promise&&) = default;
  ~Promise() {
    if (answer_ != nullptr) answer_->Give(NodeStopping());
  }
  void Keep(absl::Status status) { answer_->Give(std::move(status)); }

 private:
  std::shared_ptr<Answer> answer_;
};

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
  if (snapshot_ != 0) {
    node_->Run([id = snapshot_](ChainNode& node) { node.CloseSnapshot(id); });
  }
  absl::Status sent = AwaitSent();
  if (status.ok()) status = sent;
  if (status.ok() && !request_.hash_only()) {
    node_->meters().backups.Note(bytes_, node_->Now());
  }
  FinishWith(status, logs::WriteLine(google::GLOG_INFO, LineOfEnd(status)));
}

absl::Status BackupStream::Save() {
  Part first;
  RETURN_IF_ERROR(OnCore([&](ChainNode& node) {
    RETURN_IF_ERROR(Open(node));
    FillHeader(node, first.mutable_header());
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(Send(std::move(first)));
  RETURN_IF_ERROR(SendObjects());
  Part last;
  kamino::v1::BackupTrailer* const trailer = last.mutable_trailer();
  trailer->set_objects(cursor_.objects);
  trailer->set_bytes(bytes_);
  trailer->set_content_hash(hash_.Digest());
  return Send(std::move(last));
}

absl::Status BackupStream::OnCore(
    absl::FunctionRef<absl::Status(ChainNode&)> task) {
  auto answer = std::make_shared<Answer>();
  const bool running =
      node_->Read([task, promise = Promise(answer)](ChainNode& node) mutable {
        promise.Keep(task(node));
      });
  return running ? answer->Await() : NodeStopping();
}

absl::Status BackupStream::Open(ChainNode& node) {
  ASSIGN_OR_RETURN(const auto opened,
                   node.OpenSnapshot(request_.while_restoring()));
  snapshot_ = opened.id;
  return absl::OkStatus();
}

void BackupStream::FillHeader(ChainNode& node,
                              kamino::v1::BackupHeader* header) {
  const membership::View& view = node.core().view();
  const engine::HeapStats heap = node.heap().stats();
  header->set_backup_id(request_.backup_id());
  header->set_cluster_id(node_->options().chain.cluster_id);
  header->set_cluster_uuid(absl::BytesToHexString(view.cluster_uuid));
  header->set_chain_id(node_->chain_id());
  header->set_epoch(view.epoch);
  header->set_view_id(view.id);
  sequence_ = node.core().ring().applied();
  header->set_sequence(sequence_);
  header->set_chain_mode(membership::ToProto(view.mode()));
  header->set_release(std::string(kVersion));
  header->set_served_by(node_->node_id());
  for (const auto& [name, value] : view.in_force) {
    (*header->mutable_in_force())[name] = value;
  }
  header->set_heap_bytes(heap.bytes_total);
  header->set_heap_used(heap.bytes_used);
}

absl::Status BackupStream::SendObjects() {
  while (!cursor_.done) {
    Part next;
    std::string records;
    RETURN_IF_ERROR(ReadMessage(&records));
    hash_.Add(records);
    bytes_ += records.size();
    if (request_.hash_only()) {
      next.set_passed(cursor_.objects);
    } else if (records.empty()) {
      break;
    } else {
      next.set_records(std::move(records));
    }
    RETURN_IF_ERROR(Send(std::move(next)));
  }
  return absl::OkStatus();
}

absl::Status BackupStream::ReadMessage(std::string* records) {
  records->reserve(kMessageBytes + kBackupStepBytes);
  while (!cursor_.done && records->size() < kMessageBytes) {
    RETURN_IF_ERROR(OnCore([&](ChainNode& node) {
      return node.ReadSnapshot(
          /*scope=*/nullptr, snapshot_, [&](engine::KeyValueReader& objects) {
            return ReadBackupStep(objects, &cursor_, records);
          });
    }));
    absl::MutexLock lock(&mutex_);
    if (broken_) return absl::CancelledError("cancelled");
  }
  return absl::OkStatus();
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
                      sequence_, ", ", bytes_, " bytes of records");
}

void BackupStream::FinishWith(absl::Status status, const absl::Status& logged) {
  if (status.ok()) status = logged;
  rpc::CountServed<SaveResponse>(status.raw_code(), node_->Now() - began_);
  Finish(
      ToGrpcStatus(status, *node_->view_board().current(), node_->node_id()));
}

}  // namespace kamino::node
