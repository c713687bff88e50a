// TLS to etcd: which servers this manager trusts, and its own certificate.
//
// etcd's certificates name hosts, not roles. A certificate is trusted if an
// authority has signed it, it allows serving, and it matches the name or
// address by which etcd is called. Files are read again when they change. If
// they do not fit together, the log says so, and the former ones remain in use.
#ifndef KAMINO_MEMBERSHIP_ETCD_ETCD_TLS_H_
#define KAMINO_MEMBERSHIP_ETCD_ETCD_TLS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/security/credentials.h"
#include "security/certificate.h"
#include "security/tls_files.h"
#include "security/tls_texts.h"
#include "security/trust.h"

namespace kamino::membership {

// The certificate of one endpoint, as seen by gRPC's threads. Thread-safe.
class EtcdPeer {
 public:
  // host:port.
  explicit EtcdPeer(const std::string& endpoint);

  // Checks the certificate of a new connection. kUnauthenticated: it is not
  // trusted; one line gives the reason.
  absl::Status Check(const security::Trust& trust,
                     std::vector<security::X509Pointer> chain, absl::Time now);
  // Checks the last certificate again, at `now`; OK if there was none.
  absl::Status CheckAgain(const security::Trust& trust, absl::Time now);
  // Why the last connection was refused; OK if it was not.
  absl::Status refusal();

 private:
  absl::Status CheckChain(const security::Trust& trust,
                          const std::vector<security::X509Pointer>& chain,
                          absl::Time now) const;

  const std::string host_;
  absl::Mutex mutex_;
  std::vector<security::X509Pointer> shown_ ABSL_GUARDED_BY(mutex_);
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
};

// Not thread-safe.
class EtcdTls {
 public:
  struct Options {
    // Certificate and key may both be empty: this manager then shows none.
    security::TlsFiles files;
    // Calendar time. Null: the machine's clock.
    std::function<absl::Time()> now = nullptr;
  };
  // kInvalidArgument: a file cannot be read, or does not fit the others.
  static absl::StatusOr<std::unique_ptr<EtcdTls>> Load(Options options);

  // Credentials from the present files; `peer` receives the server's
  // certificate.
  std::shared_ptr<grpc::ChannelCredentials> ToCall(
      std::shared_ptr<EtcdPeer> peer) const;
  // Reads the files. True: they have changed and are valid; channels continue
  // with the former ones.
  bool Look();
  absl::Status CheckAgain(EtcdPeer* peer) const;

 private:
  explicit EtcdTls(Options options);
  // kInvalidArgument: the files do not fit together.
  absl::StatusOr<std::shared_ptr<const security::Trust>> Check(
      const security::TlsTexts& texts) const;

  const Options options_;
  const std::function<absl::Time()> now_;
  security::TlsTexts seen_;     // valid or not
  security::TlsTexts current_;  // valid
  std::shared_ptr<const security::Trust> trust_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_ETCD_ETCD_TLS_H_
