// The unary methods of KaminoService by the types of their requests. Private to
// the library.
#ifndef KAMINO_CLIENT_METHOD_H_
#define KAMINO_CLIENT_METHOD_H_

#include <functional>
#include <utility>

#include "grpcpp/client_context.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "proto/session_frame.h"

namespace kamino::client {

// The method that takes a request:
//   kMutation: it changes objects, at the head;
//   kSession: the method over a connection; 0: connections do not carry it;
//   Send: sends a unary call, and calls `answered` on a thread of gRPC.
template <typename Request>
struct Method;

#define KAMINO_CLIENT_METHOD(Name, is_mutation, session_method)             \
  template <>                                                               \
  struct Method<kamino::v1::Name##Request> {                                \
    using Response = kamino::v1::Name##Response;                            \
    static constexpr bool kMutation = is_mutation;                          \
    static constexpr session::Method kSession = session_method;             \
    static void Send(kamino::v1::KaminoService::Stub* stub,                 \
                     grpc::ClientContext* context,                          \
                     const kamino::v1::Name##Request* request,              \
                     Response* response,                                    \
                     std::function<void(grpc::Status)> answered) {          \
      stub->async()->Name(context, request, response, std::move(answered)); \
    }                                                                       \
  };

KAMINO_CLIENT_METHOD(Get, false, session::Method::kGet)
KAMINO_CLIENT_METHOD(BatchGet, false, session::Method::kBatchGet)
KAMINO_CLIENT_METHOD(GetOutcome, false, session::Method{})
KAMINO_CLIENT_METHOD(Put, true, session::Method::kPut)
KAMINO_CLIENT_METHOD(Patch, true, session::Method::kPatch)
KAMINO_CLIENT_METHOD(Delete, true, session::Method::kDelete)
KAMINO_CLIENT_METHOD(Commit, true, session::Method::kCommit)
KAMINO_CLIENT_METHOD(Call, true, session::Method::kCall)

#undef KAMINO_CLIENT_METHOD

template <typename Request>
using ResponseOf = typename Method<Request>::Response;

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_METHOD_H_
