// Calls etcd by its gRPC API.
#ifndef KAMINO_MEMBERSHIP_ETCD_ETCD_CLIENT_H_
#define KAMINO_MEMBERSHIP_ETCD_ETCD_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "membership/etcd/etcd.h"
#include "membership/etcd/etcd_login.h"
#include "membership/etcd/etcd_tls.h"

namespace kamino::membership {

// Credentials for etcd.
struct EtcdAccess {
  std::unique_ptr<EtcdTls> tls;  // null: no TLS
  EtcdUser user;
};

// The deadlines of calls. If a call ends by its deadline although there is a
// connection, the deadline of the next one doubles, up to `longest`, until etcd
// answers. A manager can thus reach an etcd on an overloaded machine.
struct EtcdDeadlines {
  absl::Duration first;
  absl::Duration longest;
};

// After kUnavailable or kDeadlineExceeded the next call goes to the next
// endpoint.
class EtcdClient final : public Etcd {
 public:
  // `endpoints`: host:port each, at least one.
  EtcdClient(std::vector<std::string> endpoints, EtcdDeadlines deadlines,
             EtcdAccess access = {});
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
  struct Endpoint;

  // Makes a call within the deadline: logs in first if necessary, and again if
  // the call fails because the login has expired.
  template <typename Call>
  absl::Status Run(const char* what, Call call);
  template <typename Call>
  absl::Status Try(Endpoint& endpoint, absl::Time end, Call call);
  absl::Status Explain(Endpoint& endpoint, const char* what,
                       const absl::Status& status) const;
  // Reads changed files from time to time, and drops connections to peers that
  // are no longer trusted.
  void LookAtFiles();
  void Connect(Endpoint* endpoint) const;
  // A call to the endpoint has ended.
  void AdaptDeadline(const Endpoint& endpoint, const absl::Status& status);

  const EtcdDeadlines deadlines_;
  absl::Duration deadline_;  // of the next call
  const std::unique_ptr<EtcdTls> tls_;
  EtcdLogin login_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  size_t current_ = 0;
  absl::Time looked_at_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_ETCD_ETCD_CLIENT_H_
