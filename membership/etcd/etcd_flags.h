// The flags by which a manager proves to etcd who it is, and knows etcd:
// --etcd_tls_ca, --etcd_tls_cert, --etcd_tls_key, --etcd_tls_crl_dir,
// --etcd_user, --etcd_password_file.
#ifndef KAMINO_MEMBERSHIP_ETCD_ETCD_FLAGS_H_
#define KAMINO_MEMBERSHIP_ETCD_ETCD_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "membership/etcd/etcd_client.h"

namespace kamino::membership {

// kInvalidArgument: they contradict each other; or there is no --etcd_tls_ca,
// one of `endpoints` is not of this machine alone, and --insecure is not given.
// Reads no files.
absl::Status CheckEtcdFlags(const std::vector<std::string>& endpoints);

// What the flags say. kInvalidArgument: what they name is not good.
absl::StatusOr<EtcdAccess> EtcdAccessOfFlags();

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_ETCD_ETCD_FLAGS_H_
