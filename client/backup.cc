#include "client/backup.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "base/pause.h"
#include "base/status_macros.h"
#include "client/error.h"
#include "client/retry.h"
#include "kamino/v1/backup.grpc.pb.h"
#include "proto/backup_records.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace kamino::client {
namespace {

using kamino::v1::BackupService;
using kamino::v1::BackupTrailer;
using kamino::v1::RestoreRequest;
using kamino::v1::RestoreResponse;
using kamino::v1::SaveRequest;
using kamino::v1::SaveResponse;

// Below a node's limit for one step (replica/state/restore.h).
constexpr size_t kStepObjects = 128;
constexpr size_t kStepBytes = 256u << 10;
constexpr absl::Duration kOneTry = absl::Seconds(5);
constexpr absl::Duration kPause = absl::Milliseconds(50);

// The error of a save that had begun. An error from the node has details;
// without details, the connection was lost, or the client was too slow.
absl::Status EndOfSave(const std::string& tail, const absl::Status& status) {
  if (!absl::IsResourceExhausted(status) ||
      ReasonOf(status) != kamino::v1::REASON_UNSPECIFIED) {
    return status;
  }
  return MakeError(
      absl::StatusCode::kResourceExhausted, kamino::v1::REASON_OVERLOADED,
      absl::StrCat(tail, " has ended the backup: ", status.message()));
}

}  // namespace

bool MayBeDone(const absl::Status& status) {
  return DecideAfter(status, /*attempt=*/1, /*random=*/0).outcome_unknown;
}

absl::StatusOr<BackupTrailer> SaveBackup(const std::string& tail,
                                         const rpc::ChannelOptions& channel,
                                         const SaveRequest& request,
                                         const BackupSink& sink) {
  const auto stub = BackupService::NewStub(rpc::MakeChannel(tail, channel));
  grpc::ClientContext context;
  const auto reader = stub->Save(&context, request);
  SaveResponse part;
  absl::Status status;
  bool begun = false;
  bool ended = false;
  while (status.ok() && reader->Read(&part)) {
    if (part.has_header() == begun || ended) {
      status = absl::DataLossError(
          absl::StrCat(tail, " sent the parts of a backup in a wrong order"));
    } else if (part.has_header()) {
      begun = true;
      status = sink.begin(part.header());
    } else if (part.has_trailer()) {
      ended = true;
    } else if (part.part_case() == SaveResponse::kPassed) {
      if (sink.passed != nullptr) sink.passed(part.passed());
    } else {
      status = sink.add(part.records());
    }
  }
  if (!status.ok()) context.TryCancel();
  const absl::Status over = rpc::FromGrpc(reader->Finish());
  RETURN_IF_ERROR(status);
  if (!over.ok()) return begun ? EndOfSave(tail, over) : over;
  if (!ended) {
    return absl::UnavailableError(
        absl::StrCat(tail, " ended the backup before its trailer"));
  }
  return std::move(*part.mutable_trailer());
}

// --- Restoring.

struct Restorer::Stub {
  std::unique_ptr<BackupService::Stub> stub;
};

struct Restorer::Stubs {
  absl::Mutex mutex;
  std::map<std::string, std::shared_ptr<Stub>> by_address
      ABSL_GUARDED_BY(mutex);
};

Restorer::Restorer(Options options)
    : options_(std::move(options)), stubs_(std::make_unique<Stubs>()) {}

Restorer::~Restorer() = default;

std::shared_ptr<Restorer::Stub> Restorer::StubOf(const std::string& address) {
  absl::MutexLock lock(&stubs_->mutex);
  auto& stub = stubs_->by_address[address];
  if (stub == nullptr) {
    stub = std::make_shared<Stub>();
    stub->stub =
        BackupService::NewStub(rpc::MakeChannel(address, options_.channel));
  }
  return stub;
}

absl::StatusOr<RestoreResponse> Restorer::Step(const RestoreRequest& request) {
  const absl::Time end = MonotonicNow() + options_.timeout;
  bool answer_lost = false;  // of some attempt
  while (true) {
    const std::string head = options_.head();
    absl::Status status = MakeError(absl::StatusCode::kUnavailable,
                                    kamino::v1::REASON_RECONFIGURING,
                                    "no node is known to be the head");
    if (!head.empty()) {
      const auto stub = StubOf(head);
      grpc::ClientContext context;
      rpc::SetTimeout(
          std::clamp(end - MonotonicNow(), absl::Seconds(1), kOneTry),
          &context);
      RestoreResponse response;
      status = rpc::FromGrpc(stub->stub->Restore(&context, request, &response));
      if (status.ok()) return response;
    }
    const Decision decision = DecideAfter(status, /*attempt=*/1, /*random=*/0);
    answer_lost |= decision.outcome_unknown;
    // A final answer with a reason is that of the cluster, which executes a
    // step once: it tells the outcome of all attempts.
    const bool is_final =
        !decision.retry && (!answer_lost || decision.outcome_unknown ||
                            ReasonOf(status) != kamino::v1::REASON_UNSPECIFIED);
    if (is_final) return status;
    if (!decision.retry || MonotonicNow() >= end) {
      if (!answer_lost || decision.outcome_unknown) return status;
      return MakeError(absl::StatusCode::kUnavailable,
                       kamino::v1::REASON_OUTCOME_UNKNOWN,
                       absl::StrCat(status.message(),
                                    " (an earlier attempt had no answer)"));
    }
    Pause(kPause);
  }
}

absl::Status CutIntoSteps(
    absl::string_view records,
    absl::FunctionRef<absl::Status(absl::string_view piece)> take) {
  absl::string_view left = records;
  const char* begin = records.data();
  size_t objects = 0;
  while (!left.empty()) {
    const char* const at = left.data();
    BackupRecord record;
    if (!TakeBackupRecord(&left, &record)) {
      return absl::DataLossError("a record is cut off");
    }
    const size_t bytes = static_cast<size_t>(left.data() - begin);
    if (objects > 0 && (objects == kStepObjects || bytes > kStepBytes)) {
      RETURN_IF_ERROR(
          take(absl::string_view(begin, static_cast<size_t>(at - begin))));
      begin = at;
      objects = 0;
    }
    ++objects;
  }
  if (objects == 0) return absl::OkStatus();
  return take(
      absl::string_view(begin, static_cast<size_t>(left.data() - begin)));
}

}  // namespace kamino::client
