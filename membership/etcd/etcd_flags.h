// The flags for a manager's TLS and login at etcd: --etcd_tls_ca,
// --etcd_tls_cert, --etcd_tls_key, --etcd_tls_crl_dir, --etcd_user,
// --etcd_password_file.
#ifndef KAMINO_MEMBERSHIP_ETCD_ETCD_FLAGS_H_
#define KAMINO_MEMBERSHIP_ETCD_ETCD_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "membership/etcd/etcd_client.h"

namespace kamino::membership {

// kInvalidArgument: the flags contradict each other; or there is no
// --etcd_tls_ca, one of `endpoints` is not on this machine, and --insecure is
// not given. Reads no files.
absl::Status CheckEtcdFlags(const std::vector<std::string>& endpoints);

// Reads the files that the flags name. kInvalidArgument: one is invalid.
absl::StatusOr<EtcdAccess> EtcdAccessOfFlags();

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_ETCD_ETCD_FLAGS_H_
