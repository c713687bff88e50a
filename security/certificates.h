// What this process shows of itself, and whom it believes: its certificate and
// key, its authorities and what they have revoked, as files have them that may
// change at any time.
//
// Files are read again when they have changed. What does not fit together (a
// key that is not the certificate's, half of a file, a certificate that has
// expired, one of another holder) is told in the log, and what was there before
// goes on, until it is better.
//
// TLS looks at a certificate when a connection is made, never again. So who
// holds connections open has each watched (Watch): its end is called within
// kMaxLateness of when the peer's certificate expires, is revoked, or loses its
// authority.
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
#include "openssl/types.h"
#include "security/certificate.h"
#include "security/identity.h"
#include "security/tls_files.h"
#include "security/tls_texts.h"
#include "security/trust.h"

namespace kamino::security {

// Between two looks at the files, and at who is watched.
inline constexpr absl::Duration kLook = absl::Seconds(5);
inline constexpr absl::Duration kMaxLateness = absl::Seconds(60);

// Thread-safe.
class Certificates {
 public:
  struct Options {
    TlsFiles files;
    // What is believed is of this cluster. "": of the own certificate's.
    std::string cluster;
    // By the calendar, which certificates are dated by. Null: the machine's.
    std::function<absl::Time()> now = nullptr;
    // Infinite: only Look looks.
    absl::Duration look = kLook;
  };
  // kInvalidArgument: a file is missing, cannot be read, or does not fit the
  // others. kUnauthenticated: the own certificate would be refused.
  static absl::StatusOr<std::unique_ptr<Certificates>> Load(
      const Options& options);
  // All watches have ended, and contexts made of this are not used any more.
  ~Certificates();
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  // What is shown and believed now.
  struct Set {
    std::string certificate_pem;
    std::string key_pem;
    std::string authorities_pem;
    Certificate own;
    KeyPointer key;
    std::shared_ptr<const Trust> trust;
  };
  std::shared_ptr<const Set> Current() const;
  // The same for as long as this is there.
  const Identity& identity() const { return identity_; }

  // kUnauthenticated: it is not believed now; one line says why.
  absl::Status Check(const Certificate& peer) const;
  // The same when a connection is made, of `chain`, the peer's own first: it
  // must be for those who serve, or call, as well.
  enum class Peer { kServes, kCalls };
  struct Admission {
    absl::StatusOr<Certificate> peer;
    int x509_error = 0;  // as Verdict
  };
  Admission Admit(std::vector<X509Pointer> chain, Peer peer) const;

  // One line of the log, of which there are some a second at most, and one more
  // refused: `who` is the peer's address, or what else is known of it.
  void TellRefused(absl::string_view who, const absl::Status& why) const;

  // Called after each change of Current, by the thread that looks; and once for
  // what is there now. It must not call this; for as long as this is there.
  void OnChange(std::function<void(const Set&)> changed);

  // Called after each look, by the thread that looks, holding nothing; for as
  // long as this is there.
  void OnLook(std::function<void()> looked);

  // Until it is destroyed: `end` is called, once, if the certificate is
  // believed no more. It must be quick, as to shut a socket down or to set a
  // mark, and must not begin or end a watch; it does not run once this has
  // been destroyed.
  class Watch;
  std::unique_ptr<Watch> WatchPeer(
      const Certificate& peer, std::function<void(const absl::Status&)> end);
  // Ends those that `why` has an error for, as when roles have changed.
  void EndWatched(
      const std::function<absl::Status(const Certificate& peer)>& why);

  // For users of OpenSSL: sets a context up to show and to believe what is
  // there when a connection is made. Without resumption, which would go past
  // the check. The context must not outlive this.
  struct ContextOptions {
    int min_version = 0x0304;        // TLS 1.3, as OpenSSL numbers them
    bool peer_must_be_known = true;  // else it may show no certificate
  };
  absl::Status SetUp(const ContextOptions& options, SSL_CTX* context) const;
  struct ContextDeleter {
    void operator()(SSL_CTX* context) const;
  };
  using Context = std::unique_ptr<SSL_CTX, ContextDeleter>;
  absl::StatusOr<Context> NewServerContext(const ContextOptions& options) const;
  absl::StatusOr<Context> NewClientContext(const ContextOptions& options) const;

  // Looks at the files, and at who is watched, as the thread does each `look`.
  void Look();

  struct Counts {
    uint64_t reloads = 0;         // changes taken
    uint64_t failed_reloads = 0;  // changes not taken
    uint64_t refused = 0;         // peers, when they came
    uint64_t ended = 0;           // watched ones, later
  };
  Counts counts() const;

 private:
  struct Watched {
    Certificate peer;
    std::function<void(const absl::Status&)> end;
    bool ended = false;
  };

  explicit Certificates(const Options& options);
  absl::StatusOr<std::shared_ptr<const Set>> Take(const TlsTexts& texts) const;
  Verdict CheckAt(const Set& set, const Certificate& peer) const;
  absl::Status CheckOwn(const Set& set) const;
  void Reload();
  void TellAge(const Set& set) ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  void Run();
  static int ShowOwn(SSL* connection, void* self);
  static int CheckPeer(X509_STORE_CTX* check, void* self);

  const Options options_;
  const std::function<absl::Time()> now_;
  // Constant once Load has returned.
  std::string cluster_;
  Identity identity_;

  mutable absl::Mutex mutex_;
  std::shared_ptr<const Set> current_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;

  absl::Mutex look_mutex_;  // held by who looks, and before the next two
  TlsTexts seen_ ABSL_GUARDED_BY(look_mutex_);
  absl::Time age_told_ ABSL_GUARDED_BY(look_mutex_) = absl::InfinitePast();
  std::vector<std::function<void(const Set&)>> changed_
      ABSL_GUARDED_BY(look_mutex_);
  std::list<std::function<void()>> looked_ ABSL_GUARDED_BY(look_mutex_);

  absl::Mutex watch_mutex_;
  std::list<Watched> watched_ ABSL_GUARDED_BY(watch_mutex_);

  mutable LogLimit refusals_;
  mutable std::atomic<uint64_t> refused_{0};
  std::atomic<uint64_t> reloads_{0};
  std::atomic<uint64_t> failed_reloads_{0};
  std::atomic<uint64_t> ended_{0};
  std::thread thread_;
};

class Certificates::Watch {
 public:
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  friend class Certificates;
  Watch(Certificates* certificates, std::list<Watched>::iterator at)
      : certificates_(certificates), at_(at) {}

  Certificates* const certificates_;
  const std::list<Watched>::iterator at_;
};

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_CERTIFICATES_H_
