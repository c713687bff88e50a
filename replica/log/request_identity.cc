#include "replica/log/request_identity.h"

#include <xxhash.h>

namespace kamino::replica {

RequestIdentity IdentityOf(const MutationView& mutation) {
  const uint64_t function =
      XXH3_64bits(mutation.function.data(), mutation.function.size());
  return {mutation.client_id, mutation.number,
          XXH3_64bits_withSeed(mutation.arguments.data(),
                               mutation.arguments.size(), function)};
}

void ToProto(const RequestIdentity& identity,
             kamino::internal::v1::RequestIdentity* proto) {
  proto->set_client_id(identity.client_id);
  proto->set_number(identity.number);
  proto->set_digest(identity.digest);
}

RequestIdentity FromProto(const kamino::internal::v1::RequestIdentity& proto) {
  return {proto.client_id(), proto.number(), proto.digest()};
}

}  // namespace kamino::replica
