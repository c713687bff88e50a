#include "node/rpc/backup_reader.h"

#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/synchronization/mutex.h"
#include "base/status_macros.h"
#include "membership/records.h"
#include "node/rpc/status_details.h"
#include "proto/version.h"

namespace kamino::node {
namespace {

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

absl::Status BackupReader::OnCore(
    absl::FunctionRef<absl::Status(ChainNode&)> task) {
  auto answer = std::make_shared<Answer>();
  const bool running =
      node_.Read([task, promise = Promise(answer)](ChainNode& node) mutable {
        promise.Keep(task(node));
      });
  return running ? answer->Await() : NodeStopping();
}

absl::Status BackupReader::Open(kamino::v1::BackupHeader* header) {
  return OnCore([&](ChainNode& node) {
    ASSIGN_OR_RETURN(const auto opened,
                     node.snapshots().Open(request_.while_restoring()));
    snapshot_ = opened.id;
    FillHeader(node, header);
    return absl::OkStatus();
  });
}

void BackupReader::FillHeader(ChainNode& node,
                              kamino::v1::BackupHeader* header) {
  const membership::View& view = node.core().view();
  const engine::HeapStats heap = node.heap().stats();
  header->set_backup_id(request_.backup_id());
  header->set_cluster_id(node_.options().chain.cluster_id);
  header->set_cluster_uuid(absl::BytesToHexString(view.cluster_uuid));
  header->set_chain_id(node_.chain_id());
  header->set_epoch(view.epoch);
  header->set_view_id(view.id);
  sequence_ = node.core().ring().applied();
  header->set_sequence(sequence_);
  header->set_chain_mode(membership::ToProto(view.mode()));
  header->set_release(std::string(kVersion));
  header->set_served_by(node_.node_id());
  for (const auto& [name, value] : view.in_force) {
    (*header->mutable_in_force())[name] = value;
  }
  header->set_heap_bytes(heap.bytes_total);
  header->set_heap_used(heap.bytes_used);
}

absl::Status BackupReader::Read(std::string* records,
                                absl::FunctionRef<bool()> cancelled) {
  records->reserve(kMessageBytes + kBackupStepBytes);
  while (!cursor_.done && records->size() < kMessageBytes) {
    RETURN_IF_ERROR(OnCore([&](ChainNode& node) {
      return node.snapshots().Read(
          /*scope=*/nullptr, snapshot_, [&](engine::KeyValueReader& objects) {
            return ReadBackupStep(objects, &cursor_, records);
          });
    }));
    if (cancelled()) return absl::CancelledError("cancelled");
  }
  hash_.Add(*records);
  bytes_ += records->size();
  return absl::OkStatus();
}

void BackupReader::FillTrailer(kamino::v1::BackupTrailer* trailer) const {
  trailer->set_objects(cursor_.objects);
  trailer->set_bytes(bytes_);
  trailer->set_content_hash(hash_.Digest());
}

void BackupReader::Close() {
  if (snapshot_ == 0) return;
  node_.Run([id = snapshot_](ChainNode& node) { node.snapshots().Close(id); });
}

}  // namespace kamino::node
