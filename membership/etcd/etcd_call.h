// A call of etcd's as a value, so that who decides on it need not be who waits
// for it.
#ifndef KAMINO_MEMBERSHIP_ETCD_ETCD_CALL_H_
#define KAMINO_MEMBERSHIP_ETCD_ETCD_CALL_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "membership/etcd/etcd.h"

namespace kamino::membership {

// Which fields count is as in the method of Etcd of that name.
struct EtcdCall {
  enum class Kind {
    kGrantLease,
    kKeepAlive,
    kRevokeLease,
    kCampaign,
    kReplace
  };

  Kind kind = Kind::kGrantLease;
  int64_t ttl_seconds = 0;
  int64_t lease = 0;
  std::string leader_key;
  std::string view_key;
  std::string value;  // kCampaign: the name; kReplace: the view
  int64_t expected_revision = 0;
  int64_t leader_revision = 0;
};

struct EtcdAnswer {
  absl::Status status;
  int64_t lease = 0;        // kGrantLease
  Etcd::Election election;  // kCampaign
  Etcd::Value stored;       // kReplace
};

EtcdAnswer CarryOut(const EtcdCall& call, Etcd* etcd);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_ETCD_ETCD_CALL_H_
