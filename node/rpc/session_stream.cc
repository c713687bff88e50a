#include "node/rpc/session_stream.h"

#include <utility>

namespace kamino::node {
namespace {

// Frames of one stream that the core may have. Those that wait there are
// answered together; a large frame is followed by at most one more.
constexpr int kMostFrames = 64;
constexpr size_t kMostBytes = 256 << 10;

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
    unsent_ += frame.size();
    waiting_.push_back(std::move(frame));
    next = NextLocked();
  }
  Do(next);
}

size_t SessionStream::unsent() const {
  absl::MutexLock lock(&mutex_);
  return unsent_;
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
    --starting_reads_;
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
    ++taken_frames_;
    taken_bytes_ += bytes;
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
    reading_ = false;
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
    --taken_frames_;
    taken_bytes_ -= bytes;
    next = ReadOrElseLocked();
  }
  Do(next);
}

SessionStream::Next SessionStream::ReadOrElseLocked() {
  if (closing_) return NextLocked();
  if (reading_ || taken_frames_ >= kMostFrames || taken_bytes_ >= kMostBytes) {
    return Next::kNothing;
  }
  reading_ = true;
  ++starting_reads_;
  return Next::kRead;
}

void SessionStream::OnWriteDone(bool ok) {
  Next next;
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    unsent_ -= out_.frame().size();
    if (!ok) {
      closing_ = true;
      waiting_.clear();
      unsent_ = 0;
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
    unsent_ = writing_ ? out_.frame().size() : 0;
    waiting_.clear();
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
  if (writing_ || finished_) return Next::kNothing;
  if (!waiting_.empty()) {
    writing_ = true;
    *out_.mutable_frame() = std::move(waiting_.front());
    waiting_.pop_front();
    return Next::kWrite;
  }
  // A read, or this, follows each frame that the core has.
  if (!closing_ || taken_frames_ > 0 || starting_reads_ > 0 || cancelling_) {
    return Next::kNothing;
  }
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
