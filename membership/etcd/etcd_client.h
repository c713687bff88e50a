// etcd by its own gRPC API.
#ifndef KAMINO_MEMBERSHIP_ETCD_ETCD_CLIENT_H_
#define KAMINO_MEMBERSHIP_ETCD_ETCD_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "membership/etcd/etcd.h"

namespace kamino::membership {

// After kUnavailable or kDeadlineExceeded the next call goes to the next
// endpoint.
class EtcdClient final : public Etcd {
 public:
  // `endpoints`: host:port each, at least one. `deadline`: of one call.
  EtcdClient(std::vector<std::string> endpoints, absl::Duration deadline);
  ~EtcdClient() override;

  absl::StatusOr<Stored> Look(const Keys& keys) override;
  absl::StatusOr<Election> Campaign(const Keys& keys, const std::string& name,
                                    const std::string& renewal,
                                    int64_t leader_revision,
                                    int64_t renewal_revision) override;
  absl::StatusOr<Stored> Renew(const Keys& keys, const std::string& renewal,
                               const Leadership& leadership) override;
  absl::StatusOr<Value> Replace(const Keys& keys, const std::string& value,
                                int64_t expected_revision,
                                const Leadership& leadership) override;
  absl::Status Compact(int64_t revision) override;

 private:
  struct Stubs;

  template <typename Call>
  absl::Status Run(const char* what, Call call);

  const std::vector<std::string> endpoints_;
  const absl::Duration deadline_;
  size_t current_ = 0;
  std::vector<std::unique_ptr<Stubs>> stubs_;  // by endpoint
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_ETCD_ETCD_CLIENT_H_
