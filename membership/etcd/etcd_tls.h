// TLS to etcd: whom of those who serve at its addresses is believed, and what
// is shown to them.
//
// etcd's certificates are of hosts, not of roles: one is believed that an
// authority has signed, that is for who serves, and for the name or address by
// which etcd is called. Files are read again when they have changed; what does
// not fit together is told in the log, and what was there before goes on.
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

// Who has served at one endpoint, as gRPC's threads find out. Thread-safe.
class EtcdPeer {
 public:
  // host:port.
  explicit EtcdPeer(const std::string& endpoint);

  // Of what is shown when a connection is made; kUnauthenticated: it is not
  // believed, and one line says why.
  absl::Status Check(const security::Trust& trust,
                     std::vector<security::X509Pointer> chain, absl::Time now);
  // Of what was shown last, now; OK: nothing was.
  absl::Status CheckAgain(const security::Trust& trust, absl::Time now);
  // Why the last connection was refused; OK: it was not.
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
    // Certificate and key may both be left out: then none is shown.
    security::TlsFiles files;
    // By the calendar. Null: the machine's.
    std::function<absl::Time()> now = nullptr;
  };
  // kInvalidArgument: a file cannot be read, or does not fit the others.
  static absl::StatusOr<std::unique_ptr<EtcdTls>> Load(Options options);

  // As files are now; `peer` is told who serves.
  std::shared_ptr<grpc::ChannelCredentials> ToCall(
      std::shared_ptr<EtcdPeer> peer) const;
  // Reads the files. True: they have changed for something good, and channels
  // go on by what was there before.
  bool Look();
  absl::Status CheckAgain(EtcdPeer* peer) const;

 private:
  explicit EtcdTls(Options options);
  // kInvalidArgument: they do not fit together.
  absl::StatusOr<std::shared_ptr<const security::Trust>> Check(
      const security::TlsTexts& texts) const;

  const Options options_;
  const std::function<absl::Time()> now_;
  security::TlsTexts seen_;     // good or not
  security::TlsTexts current_;  // good
  std::shared_ptr<const security::Trust> trust_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_ETCD_ETCD_TLS_H_
