// OpenSSL contexts that use a process's present certificates. A context has
// none itself: they are looked up for each connection, so that contexts survive
// changes of the files. Session resumption is off, because it would bypass the
// check of the peer.
//
// Thread-safe.
#ifndef KAMINO_SECURITY_TLS_CONTEXT_H_
#define KAMINO_SECURITY_TLS_CONTEXT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "openssl/types.h"
#include "security/certificates.h"

namespace kamino::security {

struct TlsContextOptions {
  int min_version = 0x0304;        // TLS 1.3, as OpenSSL numbers them
  bool peer_must_be_known = true;  // otherwise it may have no certificate
};

struct TlsContextDeleter {
  void operator()(SSL_CTX* context) const;
};
using TlsContext = std::unique_ptr<SSL_CTX, TlsContextDeleter>;

// The context must not outlive `certificates`. kResourceExhausted, kInternal:
// OpenSSL cannot.
absl::StatusOr<TlsContext> NewServerContext(
    const Certificates& certificates, const TlsContextOptions& options = {});
absl::StatusOr<TlsContext> NewClientContext(
    const Certificates& certificates, const TlsContextOptions& options = {});

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_TLS_CONTEXT_H_
