#include "client/chain_watch.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "client/error.h"
#include "grpcpp/grpcpp.h"

namespace kamino::client {
namespace {

constexpr absl::Duration kFirstDelay = absl::Milliseconds(50);
// A chain without watchers still serves; nothing is lost by being slow.
constexpr absl::Duration kMaxDelay = absl::Seconds(2);

}  // namespace

// Lives until its OnDone.
class ChainWatch::Stream final
    : public grpc::ClientReadReactor<kamino::v1::WatchChainResponse> {
 public:
  Stream(ChainWatch* watch, std::shared_ptr<Directory::Stub> stub)
      : watch_(watch), stub_(std::move(stub)) {}

  // The stream may end, and delete this, before Begin returns.
  void Begin() {
    stub_->async()->WatchChain(&context_, &request_, this);
    StartRead(&response_);
    StartCall();
  }
  void Cancel() { context_.TryCancel(); }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;  // OnDone follows
    watch_->OnChain(response_.chain());
    StartRead(&response_);
  }
  void OnDone(const grpc::Status& status) override {
    ChainWatch* const watch = watch_;
    watch->OnEnding();
    delete this;
    watch->OnEnd(FromGrpc(status));
  }

  ChainWatch* const watch_;
  const std::shared_ptr<Directory::Stub> stub_;
  grpc::ClientContext context_;
  const kamino::v1::WatchChainRequest request_;
  kamino::v1::WatchChainResponse response_;
};

void ChainWatch::Start() {
  {
    absl::MutexLock lock(&mutex_);
    delay_ = kFirstDelay;
    // Clients spread over the nodes, which bound their watchers.
    absl::BitGen random;
    next_node_ = absl::Uniform<uint32_t>(random);
  }
  Open();
}

void ChainWatch::Stop() {
  absl::MutexLock lock(&mutex_);
  stopping_ = true;
  if (stream_ != nullptr) stream_->Cancel();
  mutex_.Await(absl::Condition(this, &ChainWatch::Idle));
}

void ChainWatch::Open() {
  const std::vector<std::string> addresses = directory_->Addresses();
  Stream* stream;
  {
    absl::MutexLock lock(&mutex_);
    if (stopping_) return;
    const std::string& address = addresses[next_node_++ % addresses.size()];
    stream = stream_ = new Stream(this, directory_->At(address));
  }
  stream->Begin();
}

void ChainWatch::OnChain(const kamino::v1::Chain& chain) {
  // Calls that a node has turned away or did not answer wait for this.
  if (directory_->Learn(chain)) timer_->Hurry();
  absl::MutexLock lock(&mutex_);
  delay_ = kFirstDelay;
}

void ChainWatch::OnEnding() {
  absl::MutexLock lock(&mutex_);
  stream_ = nullptr;
  ending_ = true;
}

void ChainWatch::OnEnd(const absl::Status& status) {
  directory_->Learn(DetailOf(status).chain());
  absl::MutexLock lock(&mutex_);
  ending_ = false;
  if (stopping_) return;
  timer_->After(delay_, [this] { Open(); });
  delay_ = std::min(delay_ * 2, kMaxDelay);
}

}  // namespace kamino::client
