#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/session/wire.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"
#include "rpc/status.h"

namespace kamino::client {
namespace {

using kamino::v1::SessionFrame;

class StreamWire final
    : public Wire,
      public grpc::ClientBidiReactor<SessionFrame, SessionFrame> {
 public:
  StreamWire(std::shared_ptr<kamino::v1::SessionService::Stub> stub,
             std::shared_ptr<WireHandler> handler)
      : stub_(std::move(stub)), handler_(std::move(handler)) {}

  // The wire may end before this returns.
  void Open(std::shared_ptr<StreamWire> self) {
    self_ = std::move(self);
    grpc::ClientContext* context;
    {
      absl::MutexLock lock(&mutex_);
      context = context_.get();
    }
    stub_->async()->Connect(context, this);
    AddHold();  // until Send starts no more writes
    StartRead(&in_);
    StartCall();
  }

  void Send(std::string frame) override {
    {
      absl::MutexLock lock(&mutex_);
      if (closing_) return;
      if (writing_) {
        waiting_.push_back(std::move(frame));
        return;
      }
      writing_ = true;
      *out_.mutable_frame() = std::move(frame);
    }
    StartWrite(&out_);  // not with the lock: it may call back at once
  }

  void Close() override {
    Cancel();
    End();
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return End();
    handler_->OnFrame(in_.frame());
    StartRead(&in_);
  }

  void OnWriteDone(bool ok) override {
    bool writes = false;
    bool ends = false;
    {
      absl::MutexLock lock(&mutex_);
      closing_ |= !ok;
      writes = writing_ = !waiting_.empty() && !closing_;
      if (writes) {
        *out_.mutable_frame() = std::move(waiting_.front());
        waiting_.pop_front();
      } else {
        ends = closing_ && !std::exchange(released_, true);
      }
    }
    if (writes) return StartWrite(&out_);
    if (!ok) Cancel();
    if (ends) RemoveHold();
  }

  void Cancel() {
    std::shared_ptr<grpc::ClientContext> context;
    {
      absl::MutexLock lock(&mutex_);
      context = context_;
    }
    if (context != nullptr) context->TryCancel();
  }

  // From now on no write begins, except one that is about to and then ends.
  void End() {
    {
      absl::MutexLock lock(&mutex_);
      closing_ = true;
      waiting_.clear();
      if (writing_ || std::exchange(released_, true)) return;
    }
    RemoveHold();
  }

  void OnDone(const grpc::Status& status) override {
    const auto self = std::move(self_);
    // Both hold the channel, which must not be destroyed on a gRPC thread, and
    // the handler may release it when it hears of the end.
    {
      absl::MutexLock lock(&mutex_);
      context_.reset();
    }
    stub_.reset();
    absl::Status why = rpc::FromGrpc(status);
    if (why.ok()) why = absl::UnavailableError("the node ended the stream");
    handler_->OnWireClosed(why);
  }

  std::shared_ptr<kamino::v1::SessionService::Stub> stub_;  // until OnDone
  const std::shared_ptr<WireHandler> handler_;
  std::shared_ptr<StreamWire> self_;  // until OnDone
  SessionFrame in_;                   // gRPC's from StartRead to OnReadDone
  SessionFrame out_;                  // gRPC's from StartWrite to OnWriteDone

  absl::Mutex mutex_;
  std::shared_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_) =
      std::make_shared<grpc::ClientContext>();
  std::deque<std::string> waiting_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool released_ ABSL_GUARDED_BY(mutex_) = false;  // the hold
};

}  // namespace

std::shared_ptr<Wire> OpenStreamWire(
    std::shared_ptr<kamino::v1::SessionService::Stub> stub,
    std::shared_ptr<WireHandler> handler) {
  auto wire = std::make_shared<StreamWire>(std::move(stub), std::move(handler));
  wire->Open(wire);
  return wire;
}

}  // namespace kamino::client
