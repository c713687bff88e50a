#include "client/chain_watch.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/support/client_callback.h"
#include "rpc/backoff.h"
#include "rpc/status.h"

namespace kamino::client {
namespace {

// The chain serves without watchers, so slow retries do no harm.
constexpr rpc::Backoff kBackoff = {absl::Milliseconds(50), absl::Seconds(2)};

}  // namespace

// Lives until its OnDone.
class ChainWatch::Stream final
    : public grpc::ClientReadReactor<kamino::v1::WatchChainResponse> {
 public:
  Stream(ChainWatch* watch, std::string address)
      : watch_(watch),
        address_(std::move(address)),
        stub_(watch->directory_->At(address_)) {
    request_.set_chain_id(watch->directory_->chain_id());
  }

  // The stream may end, and delete itself, before Begin returns.
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
    const std::string address = address_;
    watch->OnEnding();
    delete this;
    watch->OnEnd(address, rpc::FromGrpc(status));
  }

  ChainWatch* const watch_;
  const std::string address_;
  const std::shared_ptr<Directory::Stub> stub_;
  grpc::ClientContext context_;
  kamino::v1::WatchChainRequest request_;
  kamino::v1::WatchChainResponse response_;
};

void ChainWatch::Start() {
  {
    absl::MutexLock lock(&mutex_);
    // Spreads the clients over the nodes, which limit their watchers.
    next_node_ = absl::Uniform<uint32_t>(random_);
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
    stream = stream_ = new Stream(this, address);
  }
  stream->Begin();
}

void ChainWatch::OnChain(const kamino::v1::Chain& chain) {
  // Calls that a node refused or did not answer wait for this.
  if (directory_->Learn(chain)) timer_->Hurry();
  absl::MutexLock lock(&mutex_);
  failures_ = 0;
}

void ChainWatch::OnEnding() {
  absl::MutexLock lock(&mutex_);
  stream_ = nullptr;
  ending_ = true;
}

void ChainWatch::OnEnd(const std::string& address, const absl::Status& status) {
  directory_->OnRefused(address, status);
  absl::MutexLock lock(&mutex_);
  ending_ = false;
  if (stopping_) return;
  timer_->After(
      kBackoff.After(++failures_, absl::Uniform<double>(random_, 0, 1)),
      [this] { Open(); });
}

}  // namespace kamino::client
