// Checks every call of a server with security::Access before any of it is read
// or served, for all services, including gRPC's own.
#ifndef KAMINO_RPC_CALL_GUARD_H_
#define KAMINO_RPC_CALL_GUARD_H_

#include <memory>

#include "base/principal.h"
#include "grpcpp/security/auth_metadata_processor.h"
#include "grpcpp/server_context.h"
#include "security/access.h"

namespace kamino::rpc {

// Pass it to ServerCredentials::SetAuthMetadataProcessor.
std::shared_ptr<grpc::AuthMetadataProcessor> GuardCalls(
    std::shared_ptr<security::Access> access);

// The principal of the call, with its present keys. Null: `access` is null, so
// everything is permitted.
PrincipalPtr PrincipalOf(const grpc::ServerContextBase& context,
                         security::Access* access);

// The identity in the connection's certificate, as a URI; "": none.
std::string IdentityOf(const grpc::ServerContextBase& context);

// The caller's address, as "ipv4:10.0.0.7:40112" or "ipv6:[fd00::7]:40112".
std::string PeerAddressOf(const grpc::ServerContextBase& context);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CALL_GUARD_H_
