// etcd by its own gRPC API.
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

// How etcd is spoken to.
struct EtcdAccess {
  std::unique_ptr<EtcdTls> tls;  // null: in the clear
  EtcdUser user;
};

// Of calls. A call that ends by its deadline although there is a connection
// doubles the deadline of the next one, up to `longest`, until etcd answers: so
// a manager hears an etcd on an overloaded machine.
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

  // All within the deadline: a login where one is due, and the call; once more
  // where that says that the login is over.
  template <typename Call>
  absl::Status Run(const char* what, Call call);
  template <typename Call>
  absl::Status Try(Endpoint& endpoint, absl::Time end, Call call);
  absl::Status Explain(Endpoint& endpoint, const char* what,
                       const absl::Status& status) const;
  // Takes changed files on, now and then, and drops connections to who is
  // believed no more.
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
