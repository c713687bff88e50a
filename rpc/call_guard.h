// Asks security::Access about every call of a server, before anything of it is
// served or read: of whatever service, gRPC's own ones too.
#ifndef KAMINO_RPC_CALL_GUARD_H_
#define KAMINO_RPC_CALL_GUARD_H_

#include <memory>

#include "base/principal.h"
#include "grpcpp/security/auth_metadata_processor.h"
#include "grpcpp/server_context.h"
#include "security/access.h"

namespace kamino::rpc {

// For ServerCredentials::SetAuthMetadataProcessor.
std::shared_ptr<grpc::AuthMetadataProcessor> GuardCalls(
    std::shared_ptr<security::Access> access);

// Whose call it is, and which keys it may touch, as of now. Null: `access` is,
// and so everybody may do everything.
PrincipalPtr PrincipalOf(const grpc::ServerContextBase& context,
                         security::Access* access);

// The identity that a connection came with, as a URI; "": it came with none.
std::string IdentityOf(const grpc::ServerContextBase& context);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CALL_GUARD_H_
