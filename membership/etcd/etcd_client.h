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

  absl::StatusOr<int64_t> GrantLease(int64_t ttl_seconds) override;
  absl::Status KeepAlive(int64_t lease) override;
  absl::Status RevokeLease(int64_t lease) override;
  absl::StatusOr<Election> Campaign(const std::string& leader_key,
                                    const std::string& name, int64_t lease,
                                    const std::string& view_key) override;
  absl::StatusOr<Value> Replace(const std::string& view_key,
                                const std::string& value,
                                int64_t expected_revision,
                                const std::string& leader_key,
                                int64_t leader_revision) override;

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
