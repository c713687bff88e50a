#include "security/tls_context.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "openssl/err.h"
#include "openssl/ssl.h"
#include "openssl/x509_vfy.h"
#include "openssl/x509v3.h"
#include "security/certificate.h"

namespace kamino::security {
namespace {

std::string AddressOf(const SSL* connection) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  char text[INET6_ADDRSTRLEN] = "";
  const int descriptor = SSL_get_fd(connection);
  if (descriptor < 0 ||
      getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) !=
          0) {
    return "a peer";
  }
  if (address.ss_family == AF_INET) {
    const auto& ip4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &ip4.sin_addr, text, sizeof(text));
    return absl::StrCat(text, ":", ntohs(ip4.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto& ip6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &ip6.sin6_addr, text, sizeof(text));
    return absl::StrCat("[", text, "]:", ntohs(ip6.sin6_port));
  }
  return "a peer on this machine";
}

// The peer's certificates, its own first.
std::vector<X509Pointer> ChainIn(X509_STORE_CTX* check) {
  std::vector<X509Pointer> chain;
  X509* const own = X509_STORE_CTX_get0_cert(check);
  X509_up_ref(own);
  chain.emplace_back(own);
  STACK_OF(X509)* const others = X509_STORE_CTX_get0_untrusted(check);
  for (int i = 0; i < sk_X509_num(others); ++i) {
    X509* const one = sk_X509_value(others, i);
    if (one == own) continue;
    X509_up_ref(one);
    chain.emplace_back(one);
  }
  return chain;
}

int ShowOwn(SSL* connection, void* argument) {
  const auto set = static_cast<const Certificates*>(argument)->Current();
  const auto& chain = set->own.chain();
  STACK_OF(X509)* const others = sk_X509_new_null();
  if (others == nullptr) return 0;
  for (size_t i = 1; i < chain.size(); ++i) {
    sk_X509_push(others, chain[i].get());
  }
  const int shown = SSL_use_cert_and_key(connection, chain.front().get(),
                                         set->key.get(), others, 1);
  sk_X509_free(others);
  return shown;
}

int CheckPeer(X509_STORE_CTX* check, void* argument) {
  const auto& certificates = *static_cast<const Certificates*>(argument);
  auto* const connection = static_cast<SSL*>(
      X509_STORE_CTX_get_ex_data(check, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const Certificates::Admission admission = certificates.Admit(
      ChainIn(check), SSL_is_server(connection) ? Certificates::Peer::kCalls
                                                : Certificates::Peer::kServes);
  X509_STORE_CTX_set_error(check, admission.x509_error);
  if (admission.peer.ok()) return 1;
  certificates.TellRefused(AddressOf(connection), admission.peer.status());
  return 0;
}

absl::Status SetUp(const Certificates& certificates,
                   const TlsContextOptions& options, SSL_CTX* context) {
  if (SSL_CTX_set_min_proto_version(context, options.min_version) != 1) {
    return absl::InternalError(OpenSslError());
  }
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(
      context,
      SSL_VERIFY_PEER |
          (options.peer_must_be_known ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
      nullptr);
  void* const argument = const_cast<Certificates*>(&certificates);
  SSL_CTX_set_cert_cb(context, &ShowOwn, argument);
  SSL_CTX_set_cert_verify_callback(context, &CheckPeer, argument);
  return absl::OkStatus();
}

}  // namespace

void TlsContextDeleter::operator()(SSL_CTX* context) const {
  SSL_CTX_free(context);
}

absl::StatusOr<TlsContext> NewServerContext(const Certificates& certificates,
                                            const TlsContextOptions& options) {
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr) return absl::ResourceExhaustedError(OpenSslError());
  RETURN_IF_ERROR(SetUp(certificates, options, context.get()));
  return context;
}

absl::StatusOr<TlsContext> NewClientContext(const Certificates& certificates,
                                            const TlsContextOptions& options) {
  TlsContext context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return absl::ResourceExhaustedError(OpenSslError());
  RETURN_IF_ERROR(SetUp(certificates, options, context.get()));
  return context;
}

}  // namespace kamino::security
