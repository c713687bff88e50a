#include "client/scan_call.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "client/call.h"
#include "client/error.h"
#include "client/retry.h"
#include "client/start_scope.h"
#include "grpcpp/support/client_callback.h"
#include "logs/trace.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace kamino::client {

namespace {

constexpr int kMostDoublings = 5;
// Interval between checks for a node to ask.
constexpr absl::Duration kNoNodePause = absl::Milliseconds(50);

}  // namespace

// One attempt. Lives until its OnDone.
class ScanCall::Stream final
    : public grpc::ClientReadReactor<kamino::v1::ScanResponse> {
 public:
  Stream(std::shared_ptr<ScanCall> call, std::shared_ptr<Directory::Stub> stub,
         absl::Duration timeout)
      : call_(std::move(call)), stub_(std::move(stub)) {
    rpc::SetTimeout(timeout, &context_);
    if (!call_->trace_.empty()) {
      context_.AddMetadata(logs::kTraceparentKey, call_->trace_);
    }
  }

  void Begin() {
    stub_->async()->Scan(&context_, &call_->rest_, this);
    AddHold();  // reads are started from outside
    StartRead(&call_->part_);
    StartCall();
  }
  void ReadOn() { StartRead(&call_->part_); }
  void Cancel() {
    stopped_ = true;
    context_.TryCancel();
    RemoveHold();
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return RemoveHold();
    has_part_ = true;
    call_->OnPart();
  }
  void OnDone(const grpc::Status& status) override {
    const std::shared_ptr<ScanCall> call = std::move(call_);
    const bool stopped = stopped_;
    absl::Status ended = rpc::FromGrpc(status);
    if (has_part_ && EndedBySlowReader(ended)) {
      ended = absl::UnavailableError(ended.message());
    }
    delete this;
    if (!stopped) call->OnEnd(ended);
  }

  // A node ends a call with this error if the client takes no part for long;
  // the client may then ask again. A part that is too large for gRPC has the
  // same code, but a retry does not help.
  static bool EndedBySlowReader(const absl::Status& status) {
    return absl::IsResourceExhausted(status) &&
           ReasonOf(status) == kamino::v1::REASON_UNSPECIFIED;
  }

  std::shared_ptr<ScanCall> call_;
  const std::shared_ptr<Directory::Stub> stub_;
  grpc::ClientContext context_;
  bool has_part_ = false;
  bool stopped_ = false;  // set while nothing is being read
};

ScanCall::ScanCall(Runner* runner, kamino::v1::ScanRequest request,
                   absl::Duration timeout)
    : runner_(runner), timeout_(timeout), rest_(std::move(request)) {}

ScanCall::~ScanCall() {
  MakeRoom();
  runner_->Leave();
}

void ScanCall::MakeRoom() {
  if (!room_made_) runner_->MakeRoom();
  room_made_ = true;
}

void ScanCall::Next(PartDone done) {
  done_ = std::move(done);
  if (complete_) {
    Stop();
    return Answer(false);
  }
  if (got_on_) {
    deadline_ = MonotonicNow() + timeout_;
    attempts_ = 0;
    got_on_ = false;
  }
  if (stream_ == nullptr) return Open();
  stream_->ReadOn();
}

void ScanCall::Stop() {
  if (stream_ == nullptr) return;
  Stream* stream = stream_;
  stream_ = nullptr;
  stream->Cancel();
}

void ScanCall::Open() {
  const absl::Duration left = deadline_ - MonotonicNow();
  if (runner_->stopping()) return Answer(Closed());
  if (left <= absl::ZeroDuration()) {
    if (ReasonOf(last_error_) == kamino::v1::REASON_OVERLOADED) {
      return Answer(last_error_);
    }
    return Answer(NoPartInTime());
  }
  address_ = runner_->directory().AddressOf(Target::kTail);
  if (address_.empty()) {
    const absl::Status error = runner_->directory().seeds_error();
    if (!error.ok()) return Answer(error);
    return Reopen(kNoNodePause, /*refresh=*/true);
  }
  if (++attempts_ > 1) runner_->CountRetry();
  rest_.set_chain_id(runner_->directory().chain_id());
  // A stream that makes progress may take longer than this: it is then opened
  // again.
  stream_ = new Stream(shared_from_this(), runner_->directory().At(address_),
                       std::min(left, AttemptTimeout()));
  stream_->Begin();
}

absl::Duration ScanCall::AttemptTimeout() const {
  return kAttemptTimeout * (1 << std::min(attempts_ - 1, kMostDoublings));
}

absl::Status ScanCall::NoPartInTime() const {
  return absl::DeadlineExceededError(absl::StrCat(
      "the scan got no part within ", absl::FormatDuration(timeout_),
      ", after ", parts_, " parts and ", attempts_,
      " attempts at the next one; a longer --timeout gives each part more "
      "time (last error: ",
      last_error_.message(), ")"));
}

void ScanCall::OnPart() {
  ++parts_;
  runner_->directory().Saw(part_.header());
  const uint64_t count = static_cast<uint64_t>(part_.results_size());
  if (count > 0) {
    got_on_ = true;
    // The smallest key above the last one.
    rest_.set_start_key(part_.results().rbegin()->key() + std::string(1, '\0'));
    if (rest_.limit() > 0) {
      complete_ = rest_.limit() <= count;
      rest_.set_limit(rest_.limit() - std::min(rest_.limit(), count));
    }
  }
  Answer(true);
}

void ScanCall::OnEnd(const absl::Status& status) {
  stream_ = nullptr;
  if (status.ok()) return Answer(false);
  runner_->directory().OnRefused(address_, status);
  Retry(status);
}

void ScanCall::Retry(const absl::Status& status) {
  const Decision decision =
      DecideAfter(status, std::max(attempts_, 1), runner_->Random());
  if (!decision.retry) return Answer(status);
  last_error_ = status;
  Reopen(decision.delay, decision.refresh);
}

void ScanCall::Reopen(absl::Duration delay, bool refresh) {
  const absl::Duration left =
      std::max(deadline_ - MonotonicNow(), absl::ZeroDuration());
  const auto reopen = [self = shared_from_this(),
                       delay = std::min(delay, left)] {
    const absl::Status why = self->runner_->finder().last_error();
    if (self->attempts_ == 0 && !why.ok()) self->last_error_ = why;
    self->runner_->timer().After(delay, [self] { self->Open(); });
  };
  if (refresh) return runner_->finder().Refresh(reopen);
  reopen();
}

void ScanCall::Answer(absl::StatusOr<bool> answer) {
  if (!StartScope::active()) return Tell(std::move(answer));
  runner_->timer().After(
      absl::ZeroDuration(),
      [self = shared_from_this(), answer] { self->Tell(answer); });
}

void ScanCall::Tell(absl::StatusOr<bool> answer) {
  // The callback may call Next, or drop the scan.
  const PartDone done = std::move(done_);
  done_ = nullptr;
  if (!answer.ok() || !*answer) MakeRoom();
  done(std::move(answer));
}

}  // namespace kamino::client
