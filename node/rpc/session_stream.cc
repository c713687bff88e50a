#include "node/rpc/session_stream.h"

#include <utility>

namespace kamino::node {
namespace {

class StreamCarrier final : public SessionCarrier {
 public:
  explicit StreamCarrier(std::shared_ptr<SessionStream> stream)
      : stream_(std::move(stream)) {}
  ~StreamCarrier() override { stream_->Close(); }

  void Send(std::string frame) override { stream_->Send(std::move(frame)); }
  size_t piece_bytes() const override { return 256 << 10; }
  size_t unsent() const override { return stream_->unsent(); }
  void Close() override { stream_->Close(); }
  void Abort() override { stream_->Abort(); }
  std::string peer() const override { return stream_->peer(); }
  std::string identity() const override { return stream_->identity(); }

 private:
  const std::shared_ptr<SessionStream> stream_;
};

}  // namespace

SessionStream* SessionStream::Start(SessionServer* server,
                                    grpc::CallbackServerContext* context) {
  std::shared_ptr<SessionStream> stream(new SessionStream(server, context));
  stream->self_ = stream;
  auto carrier = std::make_unique<StreamCarrier>(stream);
  const bool runs = server->node()->Run(
      [server, id = stream->id_, carrier = std::move(carrier)](
          ChainNode&) mutable { server->Open(id, std::move(carrier)); });
  if (!runs) stream->Close();
  stream->ReadNext();
  return stream.get();
}

void SessionStream::Send(std::string frame) {
  Next next;
  {
    absl::MutexLock lock(&mutex_);
    if (closing_) return;
    outgoing_.Add(std::move(frame));
    next = NextLocked();
  }
  Do(next);
}

size_t SessionStream::unsent() const {
  absl::MutexLock lock(&mutex_);
  return outgoing_.unsent();
}

void SessionStream::Close() {
  Next next;
  {
    absl::MutexLock lock(&mutex_);
    closing_ = true;
    next = NextLocked();
  }
  Do(next);
}

void SessionStream::Abort() {
  {
    absl::MutexLock lock(&mutex_);
    if (finished_ || std::exchange(cancelling_, true)) return;
    closing_ = true;
  }
  context_->TryCancel();  // not with the lock: it may call back at once
  Next next;
  {
    absl::MutexLock lock(&mutex_);
    cancelling_ = false;
    next = NextLocked();
  }
  Do(next);
}

void SessionStream::ReadNext() {
  StartRead(&in_);
  Next next;
  {
    absl::MutexLock lock(&mutex_);
    incoming_.OnReadStarted();
    next = NextLocked();
  }
  Do(next);
}

void SessionStream::OnReadDone(bool ok) {
  if (!ok) {
    server_->node()->Run(
        [server = server_, id = id_](ChainNode&) { server->OnClosed(id); });
    return Close();
  }
  const auto self = shared_from_this();
  std::string frame = std::move(*in_.mutable_frame());
  const size_t bytes = frame.size();
  {
    absl::MutexLock lock(&mutex_);
    incoming_.Take(bytes);
  }
  const bool runs =
      server_->node()->Run([self, bytes, frame = std::move(frame)](ChainNode&) {
        self->server_->OnFrame(self->id_, frame);
        self->OnFrameTaken(bytes);
      });
  Next next = Next::kNothing;
  {
    // Not before: another thread would read the next frame into the same place,
    // and might pass it to the node first.
    absl::MutexLock lock(&mutex_);
    incoming_.EndRead();
    if (runs) next = ReadOrElseLocked();
  }
  if (runs) return Do(next);
  Close();
  OnFrameTaken(bytes);
}

void SessionStream::OnFrameTaken(size_t bytes) {
  Next next;
  {
    absl::MutexLock lock(&mutex_);
    incoming_.Return(bytes);
    next = ReadOrElseLocked();
  }
  Do(next);
}

SessionStream::Next SessionStream::ReadOrElseLocked() {
  if (closing_) return NextLocked();
  return incoming_.BeginRead() ? Next::kRead : Next::kNothing;
}

void SessionStream::OnWriteDone(bool ok) {
  Next next;
  {
    absl::MutexLock lock(&mutex_);
    outgoing_.EndWrite();
    if (!ok) {
      closing_ = true;
      outgoing_.Drop();
    }
    next = NextLocked();
  }
  Do(next);
}

void SessionStream::OnCancel() {
  Next next;
  {
    absl::MutexLock lock(&mutex_);
    closing_ = true;
    outgoing_.Drop();
    next = NextLocked();
  }
  Do(next);
}

void SessionStream::OnDone() {
  server_->node()->Run(
      [server = server_, id = id_](ChainNode&) { server->OnClosed(id); });
  self_.reset();
}

SessionStream::Next SessionStream::NextLocked() {
  if (outgoing_.writing() || finished_) return Next::kNothing;
  if (auto frame = outgoing_.BeginWrite()) {
    out_.set_frame(*std::move(frame));
    return Next::kWrite;
  }
  // A read, or this, follows each frame that the core has.
  if (!closing_ || !incoming_.idle() || cancelling_) return Next::kNothing;
  finished_ = true;
  return Next::kFinish;
}

void SessionStream::Do(Next next) {
  switch (next) {
    case Next::kNothing:
      return;
    case Next::kRead:
      return ReadNext();
    case Next::kWrite:
      return StartWrite(&out_);
    case Next::kFinish:
      return Finish(grpc::Status::OK);
  }
}

}  // namespace kamino::node
