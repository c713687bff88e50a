#include "node/rpc/kamino_service.h"

#include <time.h>

#include <numeric>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "logs/about_request.h"
#include "node/reads.h"
#include "node/request_checks.h"
#include "node/rpc/call_words.h"
#include "node/rpc/scan_stream.h"
#include "node/rpc/status_details.h"
#include "node/rpc/watch_stream.h"
#include "replica/builtins.h"
#include "replica/errors.h"
#include "rpc/call_counts.h"
#include "rpc/call_guard.h"
#include "rpc/grpc_time.h"

namespace kamino::node {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using replica::MakeError;

// On the node's clock, where it is now `now`.
absl::Time DeadlineOf(const CallbackServerContext& context, absl::Time now) {
  return now + rpc::LeftUntil(context.raw_deadline());
}

uint64_t ProcessorMicros() {
  timespec used = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<uint64_t>(
      absl::ToInt64Microseconds(absl::DurationFromTimespec(used)));
}

// Whether answers count as unsent: the others are small.
template <typename Request>
constexpr bool kHasLargeAnswer =
    std::is_same_v<Request, kamino::v1::GetRequest> ||
    std::is_same_v<Request, kamino::v1::BatchGetRequest> ||
    std::is_same_v<Request, kamino::v1::CommitRequest> ||
    std::is_same_v<Request, kamino::v1::CallRequest>;

absl::Status CheckId(const kamino::v1::RequestId& id) {
  if (id.client_id() != 0 && id.number() != 0) return absl::OkStatus();
  return MakeError(kamino::v1::REASON_INVALID_ARGUMENT,
                   "request_id needs a client_id and a number, neither 0");
}

}  // namespace

template <typename Request, typename Response>
void KaminoService::Answer(ServerUnaryReactor* reactor,
                           const Ended<Request, Response>& ended,
                           const absl::Status& status) const {
  const absl::Time now = node_->Now();
  rpc::CountServed<Response>(status.raw_code(), now - ended.began);
  if (node_->meters().slow.IsSlow(now - ended.began)) {
    TellSlow(ended, status.code(), now);
  }
  if (status.ok()) return reactor->Finish(grpc::Status::OK);
  reactor->Finish(ToGrpcStatus(status, *node_->view_board().current(),
                               node_->node_id(),
                               RequestNameOf(*ended.context, *ended.request)));
}

template <typename Request, typename Response>
void KaminoService::TellSlow(const Ended<Request, Response>& ended,
                             absl::StatusCode code, absl::Time now) const {
  SlowOperation slow;
  Describe(*ended.context, *ended.request, &slow);
  slow.method = MethodNameOf(Response::descriptor()->name());
  slow.code = code;
  slow.took = now - ended.began;
  slow.answer_bytes = ended.response->ByteSizeLong();
  absl::Time came = ended.came;
  if (ended.times != nullptr) {
    slow.head = ended.times->Times();
    slow.answer = now - slow.head->answered;
    came = slow.head->waits.came;
  }
  if (came != absl::InfiniteFuture()) slow.core = came - ended.began;
  node_->meters().slow.Tell(slow, now);
}

template <typename Request, typename Response>
ServerUnaryReactor* KaminoService::Refuse(CallbackServerContext* context,
                                          const Request* request,
                                          const Response* response,
                                          const absl::Status& status) {
  ServerUnaryReactor* reactor = context->DefaultReactor();
  Answer<Request, Response>(reactor, {context, request, response, node_->Now()},
                            status);
  return reactor;
}

template <typename Request>
void KaminoService::NoteDenied(const absl::Status& status,
                               const PrincipalPtr& by,
                               const CallbackServerContext& context,
                               const Request& request) const {
  if (access_ == nullptr || !absl::IsPermissionDenied(status)) return;
  const std::string name = RequestNameOf(context, request);
  const std::string trace = TraceparentOf(context);
  const logs::AboutRequest about(name, trace);
  access_->Note(status, rpc::MethodOf(*Request::descriptor()), by.get());
}

void KaminoService::FillHeader(uint64_t view_id, uint64_t sequence,
                               kamino::v1::ResponseHeader* header) const {
  header->set_chain_id(node_->chain_id());
  header->set_view_id(view_id);
  header->set_sequence(sequence);
  header->set_served_by(node_->node_id());
}

KaminoService::KaminoService(Node* node, security::Access* access)
    : node_(node),
      access_(access),
      get_messages_(&node->meters().reads),
      batch_get_messages_(&node->meters().reads),
      commit_messages_(&node->meters().results),
      call_messages_(&node->meters().results) {
  SetMessageAllocatorFor_Get(&get_messages_);
  SetMessageAllocatorFor_BatchGet(&batch_get_messages_);
  SetMessageAllocatorFor_Commit(&commit_messages_);
  SetMessageAllocatorFor_Call(&call_messages_);
}

template <typename Request, typename Response, typename RunFunction>
ServerUnaryReactor* KaminoService::Run(CallbackServerContext* context,
                                       CallLoad* load, int64_t request_bytes,
                                       const Request* request,
                                       Response* response, RunFunction run) {
  Ended<Request, Response> ended = {context, request, response, node_->Now()};
  if (absl::Status entered = load->Enter(request_bytes); !entered.ok()) {
    return Refuse(context, request, response, entered);
  }
  ServerUnaryReactor* reactor = context->DefaultReactor();
  const bool running = node_->Read([=, this](ChainNode& node) mutable {
    load->Leave(request_bytes);
    if (node_->meters().slow.on()) ended.came = node_->Now();
    absl::Status status = run(node);
    FillHeader(node.core().view().id, node.core().progress().settled(),
               response->mutable_header());
    Answer(reactor, ended, status);
  });
  if (running) return reactor;
  load->Leave(request_bytes);
  Answer(reactor, ended, NodeStopping());
  return reactor;
}

template <typename Request, typename Response, typename ReadFunction>
ServerUnaryReactor* KaminoService::Read(CallbackServerContext* context,
                                        const Request* request,
                                        Response* response, ReadFunction read) {
  if (absl::Status ok = Check(context, *request); !ok.ok()) {
    return Refuse(context, request, response, ok);
  }
  const absl::Time deadline = DeadlineOf(*context, node_->Now());
  const auto bytes = static_cast<int64_t>(request->ByteSizeLong());
  const PrincipalPtr by = rpc::PrincipalOf(*context, access_);
  return Run(context, &node_->meters().reads, bytes, request, response,
             [=, this](ChainNode& node) {
               absl::Status status = node_->meters().reads.Begin(
                   context->peer(), context->IsCancelled(), deadline,
                   node_->Now());
               if (!status.ok()) return status;
               status = read(node, by);
               NoteDenied(status, by, *context, *request);
               CountAnswer<Request, Response>(context);
               return status;
             });
}

template <typename Request, typename Response>
void KaminoService::CountAnswer(CallbackServerContext* context) const {
  if constexpr (kHasLargeAnswer<Request>) {
    static_cast<CountedMessages<Request, Response>*>(
        context->GetRpcAllocatorState())
        ->CountAnswer(context, node_->Now());
  }
}

template <typename Request, typename Response, typename FillFunction>
ServerUnaryReactor* KaminoService::Mutate(
    CallbackServerContext* context, const Request* sent, std::string function,
    std::string arguments, Response* response, FillFunction fill) {
  if (absl::Status ok = Check(context, *sent); !ok.ok()) {
    return Refuse(context, sent, response, ok);
  }
  const kamino::v1::RequestId& id = sent->request_id();
  if (absl::Status ok = CheckId(id); !ok.ok())
    return Refuse(context, sent, response, ok);
  if (kHasLargeAnswer<Request>) {
    absl::Status room =
        node_->meters().results.CheckRoomForAnswer(context->peer());
    if (!room.ok()) return Refuse(context, sent, response, room);
  }
  if (absl::Status ok = CheckArgumentBytes(arguments.size()); !ok.ok()) {
    return Refuse(context, sent, response, ok);
  }
  ServerUnaryReactor* reactor = context->DefaultReactor();
  head::Request request;
  request.mutation.function = std::move(function);
  request.mutation.arguments = std::move(arguments);
  request.mutation.client_id = id.client_id();
  request.mutation.number = id.number();
  request.mutation.since = id.in_session() ? 0 : id.since();
  request.mutation.in_session = id.in_session();
  Ended<Request, Response> ended = {context, sent, response, node_->Now()};
  request.by = rpc::PrincipalOf(*context, access_);
  request.deadline = DeadlineOf(*context, ended.began);
  request.abandoned = [context] { return context->IsCancelled(); };
  if (kHasLargeAnswer<Request>) {
    request.room_for_answer = [this, context] {
      return node_->meters().results.CheckRoomForAnswer(context->peer());
    };
  }
  request.done = [=, this,
                  by = request.by](head::RequestOutcome outcome) mutable {
    if (outcome.status.ok() && outcome.voided) outcome.status = WasVoided();
    if (outcome.status.ok()) outcome.status = fill(outcome.result, response);
    FillHeader(node_->view_board().current()->view_id(), outcome.sequence,
               response->mutable_header());
    CountAnswer<Request, Response>(context);
    NoteDenied(outcome.status, by, *context, *sent);
    ended.times = outcome.times;
    Answer(reactor, ended, outcome.status);
  };
  node_->Mutate(std::move(request));
  return reactor;
}

// --- Reads.

ServerUnaryReactor* KaminoService::Get(CallbackServerContext* context,
                                       const kamino::v1::GetRequest* request,
                                       kamino::v1::GetResponse* response) {
  return Read(context, request, response,
              [=, this](ChainNode& node, const PrincipalPtr& by) {
                return node.reads().Read(
                    ScopeOf(by),
                    [&](Objects& objects) {
                      return ReadOne(objects, *request, response);
                    },
                    ReadAtOf(*request));
              });
}

ServerUnaryReactor* KaminoService::BatchGet(
    CallbackServerContext* context, const kamino::v1::BatchGetRequest* request,
    kamino::v1::BatchGetResponse* response) {
  if (absl::Status ok = CheckBatch(*request); !ok.ok()) {
    return Refuse(context, request, response, ok);
  }
  return Read(context, request, response,
              [=, this](ChainNode& node, const PrincipalPtr& by) {
                return node.reads().Read(
                    ScopeOf(by),
                    [&](Objects& objects) {
                      return ReadBatch(objects, *request, response);
                    },
                    ReadAtOf(*request));
              });
}

grpc::ServerWriteReactor<kamino::v1::ScanResponse>* KaminoService::Scan(
    CallbackServerContext* context, const kamino::v1::ScanRequest* request) {
  return ScanStream::Start(node_, context, DeadlineOf(*context, node_->Now()),
                           *request, access_);
}

ServerUnaryReactor* KaminoService::GetOutcome(
    CallbackServerContext* context,
    const kamino::v1::GetOutcomeRequest* request,
    kamino::v1::GetOutcomeResponse* response) {
  const kamino::v1::RequestId& id = request->request_id();
  if (absl::Status ok = CheckId(id); !ok.ok())
    return Refuse(context, request, response, ok);
  return Read(context, request, response,
              [=](ChainNode& node, const PrincipalPtr& by) -> absl::Status {
                return node.reads().ReadOutcome(request->request_id(), response,
                                                by);
              });
}

// --- Mutations.

ServerUnaryReactor* KaminoService::Put(CallbackServerContext* context,
                                       const kamino::v1::PutRequest* request,
                                       kamino::v1::PutResponse* response) {
  return Mutate(context, request, replica::kPutFunction,
                request->SerializeAsString(), response,
                [](const std::string&, auto*) { return absl::OkStatus(); });
}

ServerUnaryReactor* KaminoService::Patch(
    CallbackServerContext* context, const kamino::v1::PatchRequest* request,
    kamino::v1::PatchResponse* response) {
  return Mutate(context, request, replica::kPatchFunction,
                request->SerializeAsString(), response,
                [](const std::string&, auto*) { return absl::OkStatus(); });
}

ServerUnaryReactor* KaminoService::Delete(
    CallbackServerContext* context, const kamino::v1::DeleteRequest* request,
    kamino::v1::DeleteResponse* response) {
  return Mutate(context, request, replica::kDeleteFunction,
                request->SerializeAsString(), response,
                [](const std::string&, auto*) { return absl::OkStatus(); });
}

ServerUnaryReactor* KaminoService::Commit(
    CallbackServerContext* context, const kamino::v1::CommitRequest* request,
    kamino::v1::CommitResponse* response) {
  if (absl::Status ok = CheckCommitParts(request->preconditions_size(),
                                         request->then_operations_size(),
                                         request->else_operations_size());
      !ok.ok()) {
    return Refuse(context, request, response, ok);
  }
  return Mutate(
      context, request, replica::kCommitFunction, request->SerializeAsString(),
      response,
      [](const std::string& result,
         kamino::v1::CommitResponse* commit_response) {
        return commit_response->ParseFromString(result)
                   ? absl::OkStatus()
                   : absl::DataLossError("the stored outcome cannot be parsed");
      });
}

ServerUnaryReactor* KaminoService::Call(CallbackServerContext* context,
                                        const kamino::v1::CallRequest* request,
                                        kamino::v1::CallResponse* response) {
  if (absl::Status ok =
          CheckCall(request->procedure(), request->arguments().size());
      !ok.ok()) {
    return Refuse(context, request, response, ok);
  }
  return Mutate(
      context, request, request->procedure(), request->arguments(), response,
      [](const std::string& result, kamino::v1::CallResponse* call_response) {
        call_response->set_result(result);
        return absl::OkStatus();
      });
}

// --- The chain and the node.

ServerUnaryReactor* KaminoService::GetChain(
    CallbackServerContext* context, const kamino::v1::GetChainRequest* request,
    kamino::v1::GetChainResponse* response) {
  const absl::Time began = node_->Now();
  const ViewBoard::Snapshot chain = node_->view_board().current();
  absl::Status status = Check(context, *request);
  if (status.ok() && chain->view_id() == 0) {
    status = MakeError(kamino::v1::REASON_RECONFIGURING,
                       "this node knows of no view yet; kamino admin status "
                       "tells what the chain waits for");
  }
  // Not on the core thread: clients ask repeatedly while a node is slow, and
  // would make it slower.
  if (status.ok()) {
    *response->mutable_chain() = *chain;
    FillHeader(chain->view_id(), node_->settled(), response->mutable_header());
  }
  ServerUnaryReactor* const reactor = context->DefaultReactor();
  Answer<kamino::v1::GetChainRequest, kamino::v1::GetChainResponse>(
      reactor, {context, request, response, began}, status);
  return reactor;
}

grpc::ServerWriteReactor<kamino::v1::WatchChainResponse>*
KaminoService::WatchChain(CallbackServerContext* context,
                          const kamino::v1::WatchChainRequest* request) {
  return WatchStream::Start(node_, context, Check(context, *request));
}

namespace {

void AddCalls(
    const rpc::CallCounts& counts,
    google::protobuf::RepeatedPtrField<kamino::v1::MethodStatus>* calls) {
  for (const rpc::CallCounts::Method& method : counts.Read()) {
    kamino::v1::MethodStatus* added = calls->Add();
    added->set_method(method.name);
    added->set_ok(method.ended[grpc::StatusCode::OK]);
    added->set_failed(
        std::accumulate(method.ended.begin(), method.ended.end(), uint64_t{0}) -
        added->ok());
  }
}

}  // namespace

ServerUnaryReactor* KaminoService::GetNodeStatus(
    CallbackServerContext* context,
    const kamino::v1::GetNodeStatusRequest* request,
    kamino::v1::GetNodeStatusResponse* response) {
  if (absl::Status ok = Check(context, *request); !ok.ok()) {
    return Refuse(context, request, response, ok);
  }
  const absl::Time deadline = DeadlineOf(*context, node_->Now());
  return Run(
      context, &looks_, 0, request, response, [=, this](ChainNode& node) {
        absl::Status status = looks_.Begin(
            context->peer(), context->IsCancelled(), deadline, node_->Now());
        if (!status.ok()) return status;
        node_->Describe(node, response);
        response->set_processor_us(ProcessorMicros());
        AddCalls(rpc::CallsServed(), response->mutable_calls_served());
        AddCalls(rpc::CallsMade(), response->mutable_calls_made());
        return absl::OkStatus();
      });
}

}  // namespace kamino::node
