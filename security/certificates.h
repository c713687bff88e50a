// This process's certificate and key, and the authorities and revocation lists
// that it trusts, from files that may change at any time.
//
// Files are read again when they change. If they do not fit together (a key of
// another certificate, a truncated file, an expired certificate, one of another
// holder), the log says so, and the former ones remain in use until they do.
//
// TLS checks a certificate only when a connection is made. Owners of open
// connections therefore watch them (PeerWatches): the watch's callback runs
// within kMaxLateness after the peer's certificate expires, is revoked, or
// loses its authority.
#ifndef KAMINO_SECURITY_CERTIFICATES_H_
#define KAMINO_SECURITY_CERTIFICATES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/periodic_thread.h"
#include "security/certificate.h"
#include "security/certificate_files.h"
#include "security/identity.h"
#include "security/peer_watches.h"
#include "security/refused_peers.h"
#include "security/tls_files.h"
#include "security/trust.h"

namespace kamino::security {

// Interval between checks of the files and of the watched certificates.
inline constexpr absl::Duration kLook = absl::Seconds(5);
inline constexpr absl::Duration kMaxLateness = absl::Seconds(60);

// Thread-safe.
class Certificates {
 public:
  struct Options {
    TlsFiles files;
    // Only certificates of this cluster are trusted. "": the own one's cluster.
    std::string cluster;
    // Calendar time, on which certificates are dated. Null: the machine's
    // clock.
    std::function<absl::Time()> now = nullptr;
    // Infinite: only calls of Look check.
    absl::Duration look = kLook;
  };
  // kInvalidArgument: a file is missing, cannot be read, or does not fit the
  // others. kUnauthenticated: the own certificate would be refused.
  static absl::StatusOr<std::unique_ptr<Certificates>> Load(
      const Options& options);
  // All watches must have ended, and contexts from this object must be unused.
  ~Certificates() = default;
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  using Set = CertificateSet;
  // The present certificates.
  std::shared_ptr<const Set> Current() const;
  // Constant for the life of this object.
  const Identity& identity() const { return identity_; }

  // kUnauthenticated: the certificate is not trusted now; one line gives the
  // reason.
  absl::Status Check(const Certificate& peer) const;
  // The same for a new connection with `chain`, the peer's certificate first,
  // which must also allow serving or calling, as `peer` says.
  enum class Peer { kServes, kCalls };
  struct Admission {
    absl::StatusOr<Certificate> peer;
    int x509_error = 0;  // as in Verdict
  };
  Admission Admit(std::vector<X509Pointer> chain, Peer peer) const;

  // Logs a refused peer, at a limited rate, and counts it. `peer`: its address
  // or its name.
  void TellRefused(absl::string_view peer, const absl::Status& why) const {
    refused_.Tell(peer, why);
  }

  // `changed` is called once at once, and then after each change of Current, on
  // the checking thread, for the life of this object. It must not call this
  // object.
  void OnChange(std::function<void(const Set&)> changed);

  // `looked` is called after each check, on the checking thread, without locks,
  // for the life of this object.
  void OnLook(std::function<void()> looked);

  // Watches of peers whose certificates are checked by each Look.
  PeerWatches* watches() { return &watches_; }

  // Checks the files and the watched certificates, as the thread does at each
  // interval.
  void Look();

  struct Counts {
    uint64_t reloads = 0;         // accepted changes
    uint64_t failed_reloads = 0;  // rejected changes
    uint64_t refused = 0;         // peers, at connection time
    uint64_t ended = 0;           // watched peers, later
  };
  Counts counts() const;

 private:
  explicit Certificates(const Options& options);
  // Reads the files for the first time. `cluster`: as in Options.
  absl::Status ReadFirst(const std::string& cluster);
  Verdict CheckAt(const Set& set, const Certificate& peer) const;
  absl::Status CheckOwn(const Set& set) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  void Reload();
  void TellAge(const Set& set) ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);

  const std::function<absl::Time()> now_;
  // Constant after Load.
  std::string cluster_;
  Identity identity_;

  mutable absl::Mutex mutex_;
  std::shared_ptr<const Set> current_ ABSL_GUARDED_BY(mutex_);

  absl::Mutex look_mutex_;  // held during a check; taken before mutex_
  CertificateFiles files_ ABSL_GUARDED_BY(look_mutex_);
  absl::Time age_told_ ABSL_GUARDED_BY(look_mutex_) = absl::InfinitePast();
  std::vector<std::function<void(const Set&)>> changed_
      ABSL_GUARDED_BY(look_mutex_);
  std::list<std::function<void()>> looked_ ABSL_GUARDED_BY(look_mutex_);

  PeerWatches watches_;

  mutable RefusedPeers refused_;
  std::atomic<uint64_t> reloads_{0};
  std::atomic<uint64_t> failed_reloads_{0};
  std::optional<PeriodicThread> thread_;  // looks
};

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_CERTIFICATES_H_
