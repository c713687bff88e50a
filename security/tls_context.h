// OpenSSL contexts for connections that use this process's certificates. A
// context holds no certificate: each handshake asks the Certificates object for
// the current ones, so that a context stays valid when the files change.
// Session resumption is off, because a resumed session would bypass the check
// of the peer.
//
// Threads: any thread may create a context, and several threads may create
// connections from one context at a time. The caller owns the context.
#ifndef KAMINO_SECURITY_TLS_CONTEXT_H_
#define KAMINO_SECURITY_TLS_CONTEXT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "openssl/types.h"
#include "security/certificates.h"

namespace kamino::security {

struct TlsContextOptions {
  int min_version = 0x0304;        // OpenSSL's number of TLS 1.3
  bool peer_must_be_known = true;  // false: the peer may show no certificate
};

struct TlsContextDeleter {
  void operator()(SSL_CTX* context) const;
};
using TlsContext = std::unique_ptr<SSL_CTX, TlsContextDeleter>;

// The context refers to `certificates`, which must outlive it and all of its
// connections. kResourceExhausted: OpenSSL cannot allocate the context.
// kInternal: OpenSSL refuses `options`.
absl::StatusOr<TlsContext> NewServerContext(
    const Certificates& certificates, const TlsContextOptions& options = {});
absl::StatusOr<TlsContext> NewClientContext(
    const Certificates& certificates, const TlsContextOptions& options = {});

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_TLS_CONTEXT_H_
