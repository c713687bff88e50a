// Log fields of a unary call or a scan: its name, its caller, and its size.
#ifndef KAMINO_NODE_RPC_CALL_WORDS_H_
#define KAMINO_NODE_RPC_CALL_WORDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "grpcpp/server_context.h"
#include "kamino/v1/kamino.pb.h"
#include "node/driver/slow_operations.h"

namespace kamino::node {

// The traceparent in the caller's metadata, if valid; else "".
std::string TraceparentOf(const grpc::ServerContextBase& context);

// "CLIENT_ID/NUMBER"; "": not a valid id.
std::string ToString(const kamino::v1::RequestId& id);

// The name by which clients and logs know the call: from its metadata, or its
// mutation's; "": there is neither.
template <typename Request>
std::string RequestNameOf(const grpc::ServerContextBase& context,
                          const Request& request);
std::string RequestNameOf(const grpc::ServerContextBase& context,
                          const kamino::v1::RequestId& id);

// The number of keys that it names; none: it names none.
template <typename Request>
std::optional<uint64_t> KeysIn(const Request& request);

// Fills everything but code, times and the answer's bytes.
template <typename Request>
void Describe(const grpc::ServerContextBase& context, const Request& request,
              SlowOperation* slow);
// The same without the request's own fields.
void DescribeCaller(const grpc::ServerContextBase& context,
                    SlowOperation* slow);

// --- Implementation.

template <typename Request>
std::string RequestNameOf(const grpc::ServerContextBase& context,
                          const Request& request) {
  if constexpr (requires { request.request_id(); }) {
    return RequestNameOf(context, request.request_id());
  } else {
    return RequestNameOf(context, kamino::v1::RequestId());
  }
}

template <typename Request>
std::optional<uint64_t> KeysIn(const Request& request) {
  if constexpr (requires { request.key(); }) {
    return 1;
  } else if constexpr (requires { request.keys_size(); }) {
    return request.keys_size();
  } else if constexpr (requires { request.preconditions_size(); }) {
    return request.preconditions_size() + request.then_operations_size() +
           request.else_operations_size();
  } else {
    return std::nullopt;
  }
}

template <typename Request>
void Describe(const grpc::ServerContextBase& context, const Request& request,
              SlowOperation* slow) {
  DescribeCaller(context, slow);
  slow->request = RequestNameOf(context, request);
  slow->keys = KeysIn(request);
  slow->request_bytes = request.ByteSizeLong();
  if constexpr (requires { request.procedure(); }) {
    slow->procedure = request.procedure();
  }
}

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_CALL_WORDS_H_
