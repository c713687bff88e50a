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
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/log_limit.h"
#include "security/certificate.h"
#include "security/identity.h"
#include "security/peer_watches.h"
#include "security/tls_files.h"
#include "security/tls_texts.h"
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
  ~Certificates();
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  // The present certificates.
  struct Set {
    std::string certificate_pem;
    std::string key_pem;
    std::string authorities_pem;
    Certificate own;
    KeyPointer key;
    std::shared_ptr<const Trust> trust;
  };
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

  // Logs a refused peer, at a limited rate, and counts it. `who`: the peer's
  // address, or what else identifies it.
  void TellRefused(absl::string_view who, const absl::Status& why) const;

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
  absl::StatusOr<std::shared_ptr<const Set>> Take(const TlsTexts& texts) const;
  Verdict CheckAt(const Set& set, const Certificate& peer) const;
  absl::Status CheckOwn(const Set& set) const;
  void Reload();
  void TellAge(const Set& set) ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  void Run();

  const Options options_;
  const std::function<absl::Time()> now_;
  // Constant after Load.
  std::string cluster_;
  Identity identity_;

  mutable absl::Mutex mutex_;
  std::shared_ptr<const Set> current_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;

  absl::Mutex look_mutex_;  // held during a check; taken before mutex_
  TlsTexts seen_ ABSL_GUARDED_BY(look_mutex_);
  absl::Time age_told_ ABSL_GUARDED_BY(look_mutex_) = absl::InfinitePast();
  std::vector<std::function<void(const Set&)>> changed_
      ABSL_GUARDED_BY(look_mutex_);
  std::list<std::function<void()>> looked_ ABSL_GUARDED_BY(look_mutex_);

  PeerWatches watches_;

  mutable LogLimit refusals_;
  mutable std::atomic<uint64_t> refused_{0};
  std::atomic<uint64_t> reloads_{0};
  std::atomic<uint64_t> failed_reloads_{0};
  std::thread thread_;
};

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_CERTIFICATES_H_
