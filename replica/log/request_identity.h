// Identifies a client's request: its name and its bytes. The name is not
// enough: a client may send other bytes under it, such as the empty commit that
// settles the outcome of the first.
#ifndef KAMINO_REPLICA_LOG_REQUEST_IDENTITY_H_
#define KAMINO_REPLICA_LOG_REQUEST_IDENTITY_H_

#include <cstdint>

#include "kamino/internal/v1/chain.pb.h"
#include "replica/log/log_entry.h"

namespace kamino::replica {

struct RequestIdentity {
  uint64_t client_id = 0;
  uint64_t number = 0;
  // XXH3-64 of the arguments, seeded by that of the function's name. Stored in
  // the chain's state.
  uint64_t digest = 0;

  friend bool operator==(const RequestIdentity& a, const RequestIdentity& b) {
    return a.client_id == b.client_id && a.number == b.number &&
           a.digest == b.digest;
  }
};

RequestIdentity IdentityOf(const MutationView& mutation);

void ToProto(const RequestIdentity& identity,
             kamino::internal::v1::RequestIdentity* proto);
RequestIdentity FromProto(const kamino::internal::v1::RequestIdentity& proto);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LOG_REQUEST_IDENTITY_H_
