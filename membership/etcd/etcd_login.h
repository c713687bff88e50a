// An etcd user: a name, and a password in a file. etcd issues tokens to it,
// which go with each call until they expire.
#ifndef KAMINO_MEMBERSHIP_ETCD_ETCD_LOGIN_H_
#define KAMINO_MEMBERSHIP_ETCD_ETCD_LOGIN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "etcd/etcdserver/etcdserverpb/rpc.grpc.pb.h"
#include "grpcpp/client_context.h"

namespace kamino::membership {

struct EtcdUser {
  std::string name;           // "": no login
  std::string password_file;  // its first line; read at each login
};

// kInvalidArgument: it cannot be read, or has no password.
absl::StatusOr<std::string> ReadPassword(const std::string& path);

// Not thread-safe. No error contains the password or a token.
class EtcdLogin {
 public:
  static constexpr absl::Duration kPause = absl::Seconds(2);

  explicit EtcdLogin(EtcdUser user) : user_(std::move(user)) {}

  // Whether a login is needed before the next call.
  bool IsDue() const { return !user_.name.empty() && token_.empty() && !open_; }
  // kPermissionDenied: etcd refuses the password, or there is none; the next
  // attempt waits for kPause, because a login is expensive for etcd. Other
  // errors: as of a call. An etcd without authentication is not an error.
  absl::Status LogIn(etcdserverpb::Auth::Stub* auth, absl::Duration timeout);
  // Adds the token to the call.
  void AddTo(grpc::ClientContext* context) const;
  // Whether a call that failed with `status` may succeed after a new login.
  bool IsOver(const absl::Status& status);

 private:
  const EtcdUser user_;
  std::string token_;
  bool open_ = false;  // etcd has no authentication
  absl::Status refusal_;
  absl::Time refused_until_ = absl::InfinitePast();
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_ETCD_ETCD_LOGIN_H_
