// A call to etcd as a value, so that the code that decides on it need not wait
// for it.
#ifndef KAMINO_MEMBERSHIP_ETCD_ETCD_CALL_H_
#define KAMINO_MEMBERSHIP_ETCD_ETCD_CALL_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "membership/etcd/etcd.h"

namespace kamino::membership {

// The fields in use are those of the method of Etcd with that name.
struct EtcdCall {
  enum class Kind { kLook, kCampaign, kRenew, kReplace, kCompact };

  Kind kind = Kind::kLook;
  Etcd::Keys keys;
  Etcd::Leadership leadership;  // kCampaign: the name, and what was seen
  std::string renewal;
  int64_t renewal_revision = 0;   // kCampaign
  std::string view;               // kReplace
  int64_t expected_revision = 0;  // kReplace
  int64_t compact_revision = 0;
};

struct EtcdAnswer {
  absl::Status status;
  Etcd::Stored seen;        // kLook, kRenew
  Etcd::Election election;  // kCampaign
  Etcd::Value stored;       // kReplace
};

EtcdAnswer CarryOut(const EtcdCall& call, Etcd* etcd);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_ETCD_ETCD_CALL_H_
