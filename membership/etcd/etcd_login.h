// A user of etcd's: a name, and a password in a file. etcd gives out tokens for
// it, which go with each call until etcd does not know them any more.
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
  std::string name;           // "": nobody logs in
  std::string password_file;  // the first line; read at each login
};

// kInvalidArgument: it cannot be read, or has no password.
absl::StatusOr<std::string> ReadPassword(const std::string& path);

// Not thread-safe. No error has the password or a token in it.
class EtcdLogin {
 public:
  static constexpr absl::Duration kPause = absl::Seconds(2);

  explicit EtcdLogin(EtcdUser user) : user_(std::move(user)) {}

  // Before a call: whether there has to be a login first.
  bool IsDue() const { return !user_.name.empty() && token_.empty() && !open_; }
  // kPermissionDenied: etcd does not take the password, or there is none; for
  // kPause it is not asked again then, as each time costs it much. Any other
  // error: as of a call. An etcd that asks nobody who he is is no error.
  absl::Status LogIn(etcdserverpb::Auth::Stub* auth, absl::Duration timeout);
  // Gives the call the token.
  void AddTo(grpc::ClientContext* context) const;
  // Of a call that has failed: whether it may succeed after another login.
  bool IsOver(const absl::Status& status);

 private:
  const EtcdUser user_;
  std::string token_;
  bool open_ = false;  // etcd asks nobody who he is
  absl::Status refusal_;
  absl::Time refused_until_ = absl::InfinitePast();
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_ETCD_ETCD_LOGIN_H_
