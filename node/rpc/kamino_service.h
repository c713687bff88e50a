// kamino.v1.KaminoService of a node, on gRPC's callback API: checks requests,
// passes them to the core thread, and answers from there.
#ifndef KAMINO_NODE_RPC_KAMINO_SERVICE_H_
#define KAMINO_NODE_RPC_KAMINO_SERVICE_H_

#include <string>
#include <type_traits>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "base/status_macros.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "node/driver/node.h"
#include "node/rpc/counted_messages.h"
#include "node/rpc/status_details.h"
#include "rpc/cluster_calls.h"
#include "security/access.h"

namespace kamino::node {

// Thread-safe. `node` must outlive the server that this is registered with.
class KaminoService final : public kamino::v1::KaminoService::CallbackService {
 public:
  // Largest accepted message; a request over its own limits but below this gets
  // an answer that says so.
  static constexpr int kMaxMessageBytes = 8 << 20;

  // `access`, which outlives this: the callers' rights; null: everything.
  explicit KaminoService(Node* node, security::Access* access = nullptr);

  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context,
                                const kamino::v1::GetRequest* request,
                                kamino::v1::GetResponse* response) override;
  grpc::ServerUnaryReactor* BatchGet(
      grpc::CallbackServerContext* context,
      const kamino::v1::BatchGetRequest* request,
      kamino::v1::BatchGetResponse* response) override;
  grpc::ServerUnaryReactor* Put(grpc::CallbackServerContext* context,
                                const kamino::v1::PutRequest* request,
                                kamino::v1::PutResponse* response) override;
  grpc::ServerUnaryReactor* Patch(grpc::CallbackServerContext* context,
                                  const kamino::v1::PatchRequest* request,
                                  kamino::v1::PatchResponse* response) override;
  grpc::ServerUnaryReactor* Delete(
      grpc::CallbackServerContext* context,
      const kamino::v1::DeleteRequest* request,
      kamino::v1::DeleteResponse* response) override;
  grpc::ServerWriteReactor<kamino::v1::ScanResponse>* Scan(
      grpc::CallbackServerContext* context,
      const kamino::v1::ScanRequest* request) override;
  grpc::ServerUnaryReactor* Commit(
      grpc::CallbackServerContext* context,
      const kamino::v1::CommitRequest* request,
      kamino::v1::CommitResponse* response) override;
  grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context,
                                 const kamino::v1::CallRequest* request,
                                 kamino::v1::CallResponse* response) override;
  grpc::ServerUnaryReactor* GetOutcome(
      grpc::CallbackServerContext* context,
      const kamino::v1::GetOutcomeRequest* request,
      kamino::v1::GetOutcomeResponse* response) override;
  grpc::ServerUnaryReactor* GetChain(
      grpc::CallbackServerContext* context,
      const kamino::v1::GetChainRequest* request,
      kamino::v1::GetChainResponse* response) override;
  grpc::ServerWriteReactor<kamino::v1::WatchChainResponse>* WatchChain(
      grpc::CallbackServerContext* context,
      const kamino::v1::WatchChainRequest* request) override;
  grpc::ServerUnaryReactor* GetNodeStatus(
      grpc::CallbackServerContext* context,
      const kamino::v1::GetNodeStatusRequest* request,
      kamino::v1::GetNodeStatusResponse* response) override;

 private:
  using Objects = engine::KeyValueReader;

  // Runs `run` on the core thread, then fills the response's header and
  // answers.
  template <typename Request, typename Response, typename RunFunction>
  grpc::ServerUnaryReactor* Run(grpc::CallbackServerContext* context,
                                CallLoad* load, int64_t request_bytes,
                                const Request* request, Response* response,
                                RunFunction run);

  // The same, unless its client has stopped waiting or there is no room for
  // another answer.
  template <typename Request, typename Response, typename ReadFunction>
  grpc::ServerUnaryReactor* Read(grpc::CallbackServerContext* context,
                                 const Request* request, Response* response,
                                 ReadFunction read);

  // Sends `function(arguments)` through the chain, under the name of `sent`;
  // `fill` completes the response from the function's result.
  template <typename Request, typename Response, typename FillFunction>
  grpc::ServerUnaryReactor* Mutate(grpc::CallbackServerContext* context,
                                   const Request* sent, std::string function,
                                   std::string arguments, Response* response,
                                   FillFunction fill);

  template <typename Request, typename Response>
  void CountAnswer(grpc::CallbackServerContext* context) const;

  // A call, until it is finished.
  template <typename Request, typename Response>
  struct Ended {
    grpc::CallbackServerContext* context;
    const Request* request;
    const Response* response;
    absl::Time began;  // of the node's clock
    // When the core thread began it; infinite: unknown.
    absl::Time came = absl::InfiniteFuture();
    // A mutation's times, if known.
    const head::RequestTimesSource* times = nullptr;
  };
  // The end of every unary call of the service: counts it, and reports slow
  // ones.
  template <typename Request, typename Response>
  void Answer(grpc::ServerUnaryReactor* reactor,
              const Ended<Request, Response>& ended,
              const absl::Status& status) const;
  template <typename Request, typename Response>
  void TellSlow(const Ended<Request, Response>& ended, absl::StatusCode code,
                absl::Time now) const;
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context,
                                   const Request* request,
                                   const Response* response,
                                   const absl::Status& status);
  // Checks that a request is for this node's cluster and chain.
  template <typename Request>
  absl::Status Check(grpc::CallbackServerContext* context,
                     const Request& request) const {
    // A client learns by GetChain which cluster this is.
    constexpr bool kNamesCluster =
        !std::is_same_v<Request, kamino::v1::GetChainRequest>;
    constexpr bool kOfData =
        kNamesCluster &&
        !std::is_same_v<Request, kamino::v1::GetNodeStatusRequest>;
    RETURN_IF_ERROR(
        kOfData ? rpc::MeetClient(node_->cluster(), context)
                : rpc::MeetCaller(node_->cluster(), context, kNamesCluster));
    return CheckAsked(request.chain_id(), node_->chain_id());
  }
  void FillHeader(uint64_t view_id, uint64_t sequence,
                  kamino::v1::ResponseHeader* header) const;

  // Notes a request that was refused for a key or a session.
  template <typename Request>
  void NoteDenied(const absl::Status& status, const PrincipalPtr& by,
                  const grpc::CallbackServerContext& context,
                  const Request& request) const;

  Node* const node_;
  security::Access* const access_;
  // For GetNodeStatus, which is answered also while reads are refused.
  CallLoad looks_{CallLoadOptions()};
  CountedAllocator<kamino::v1::GetRequest, kamino::v1::GetResponse>
      get_messages_;
  CountedAllocator<kamino::v1::BatchGetRequest, kamino::v1::BatchGetResponse>
      batch_get_messages_;
  CountedAllocator<kamino::v1::CommitRequest, kamino::v1::CommitResponse>
      commit_messages_;
  CountedAllocator<kamino::v1::CallRequest, kamino::v1::CallResponse>
      call_messages_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_KAMINO_SERVICE_H_
