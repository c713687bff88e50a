// The messages of a unary call whose answer counts as unsent until gRPC has
// written it and frees it.
#ifndef KAMINO_NODE_RPC_COUNTED_MESSAGES_H_
#define KAMINO_NODE_RPC_COUNTED_MESSAGES_H_

#include <cstdint>

#include "grpcpp/support/message_allocator.h"
#include "node/driver/call_load.h"
#include "node/rpc/call_ender.h"

namespace kamino::node {

// A handler finds it by CallbackServerContext::GetRpcAllocatorState.
template <typename Request, typename Response>
class CountedMessages final : public grpc::MessageHolder<Request, Response> {
 public:
  explicit CountedMessages(CallLoad* load) : load_(load) {
    this->set_request(&request_);
    this->set_response(&response_);
  }

  // The response is complete, at `now` on the node's clock. Called at most
  // once, before the call is finished.
  void CountAnswer(grpc::CallbackServerContext* context, absl::Time now) {
    answer_ = load_->AddAnswer(context->peer(),
                               static_cast<int64_t>(response_.ByteSizeLong()),
                               now, EnderOf(context));
  }

 private:
  void Release() override {
    load_->RemoveAnswer(answer_);
    delete this;
  }

  CallLoad* const load_;
  Request request_;
  Response response_;
  uint64_t answer_ = 0;
};

template <typename Request, typename Response>
class CountedAllocator final
    : public grpc::MessageAllocator<Request, Response> {
 public:
  // `load` must outlive the server's calls.
  explicit CountedAllocator(CallLoad* load) : load_(load) {}

  grpc::MessageHolder<Request, Response>* AllocateMessages() override {
    return new CountedMessages<Request, Response>(load_);
  }

 private:
  CallLoad* const load_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_COUNTED_MESSAGES_H_
