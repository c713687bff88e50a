#include "transport/tcp/tls_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "openssl/bio.h"
#include "openssl/err.h"
#include "openssl/ssl.h"

namespace kamino::transport {
namespace {

// The protocol name of links (ALPN), so that a link and another protocol with
// certificates of the same authority cannot be confused.
constexpr unsigned char kProtocol[] = "\x0bkamino-link";
constexpr unsigned int kProtocolBytes = sizeof(kProtocol) - 1;

// Most bytes of one record.
constexpr size_t kRecord = 16384;
// Charged to a key for each record, in addition to its bytes.
constexpr uint64_t kRecordCost = 64;
// Records gather up to this size, and leave together.
constexpr size_t kGathered = size_t{64} << 10;
// Limit of a peer's certificates, which a stranger may make as large as it
// likes.
constexpr long kMostCertificates = 32 << 10;
// Processors have instructions for these; shorter keys are faster.
constexpr char kCiphers[] =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
    "TLS_CHACHA20_POLY1305_SHA256";

// Per thread: where small pieces become a record.
thread_local std::unique_ptr<std::byte[]> gathered;
int SelectProtocol(SSL*, const unsigned char** selected, unsigned char* length,
                   const unsigned char* offered, unsigned int offered_bytes,
                   void*) {
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, length, kProtocol, kProtocolBytes, offered,
                            offered_bytes) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *selected = chosen;
  return SSL_TLSEXT_ERR_OK;
}

bool IsOfCertificates(int alert) {
  switch (alert) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_CERTIFICATE_REQUIRED:
    case SSL_AD_NO_CERTIFICATE:
      return true;
    default:
      return false;
  }
}

// The bytes of the next record: a large piece in place, or small ones gathered.
// Nothing: all is done.
class Cutter {
 public:
  Cutter(const iovec* pieces, size_t count) : pieces_(pieces), count_(count) {}

  absl::Span<const std::byte> Next() {
    size_t size = 0;
    while (piece_ < count_ && size < kRecord) {
      const auto* const at =
          static_cast<const std::byte*>(pieces_[piece_].iov_base) + offset_;
      const size_t left = pieces_[piece_].iov_len - offset_;
      const size_t take = std::min(left, kRecord - size);
      const bool whole = size == 0 && (take == kRecord || piece_ + 1 == count_);
      if (!whole) {
        if (gathered == nullptr) gathered.reset(new std::byte[kRecord]);
        std::memcpy(gathered.get() + size, at, take);
      }
      size += take;
      offset_ += take;
      if (take == left) {
        ++piece_;
        offset_ = 0;
      }
      if (whole && take > 0) return {at, take};
    }
    return {gathered.get(), size};
  }

 private:
  const iovec* const pieces_;
  const size_t count_;
  size_t piece_ = 0;
  size_t offset_ = 0;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const TlsSetup>> TlsSetup::Make(
    std::shared_ptr<security::Certificates> certificates,
    uint64_t bytes_of_key) {
  std::shared_ptr<TlsSetup> setup(new TlsSetup);
  setup->bytes_of_key_ = bytes_of_key;
  ASSIGN_OR_RETURN(setup->to_connect_,
                   security::NewClientContext(*certificates));
  ASSIGN_OR_RETURN(setup->to_accept_,
                   security::NewServerContext(*certificates));
  for (SSL_CTX* const context :
       {setup->to_connect_.get(), setup->to_accept_.get()}) {
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_max_cert_list(context, kMostCertificates);
    if (SSL_CTX_set_ciphersuites(context, kCiphers) != 1) {
      return absl::InternalError(security::OpenSslError());
    }
  }
  SSL_CTX_set_max_early_data(setup->to_accept_.get(), 0);
  SSL_CTX_set_alpn_select_cb(setup->to_accept_.get(), &SelectProtocol, nullptr);
  // 0 is success here.
  if (SSL_CTX_set_alpn_protos(setup->to_connect_.get(), kProtocol,
                              kProtocolBytes) != 0) {
    return absl::InternalError(security::OpenSslError());
  }
  setup->certificates_ = std::move(certificates);
  return std::shared_ptr<const TlsSetup>(std::move(setup));
}

// --- OpenSSL's view of the socket.

struct TlsStream::Method {
  static int Read(BIO* bio, char* to, size_t size, size_t* got) {
    auto* const self = static_cast<TlsStream*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    *got = self->input_.Take(to, size);
    if (*got == 0) {
      BIO_set_retry_read(bio);
      return 0;
    }
    self->fed_ += *got;
    return 1;
  }

  static int Write(BIO* bio, const char* from, size_t size, size_t* written) {
    auto* const self = static_cast<TlsStream*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    if (!self->output_.Add(from, size)) {
      BIO_set_retry_write(bio);
      return 0;
    }
    *written = size;
    return 1;
  }

  static long Control(BIO* bio, int what, long, void* to) {
    auto* const self = static_cast<TlsStream*>(BIO_get_data(bio));
    if (what == BIO_CTRL_FLUSH) return 1;
    if (what != BIO_C_GET_FD || self == nullptr) return 0;
    if (to != nullptr) *static_cast<int*>(to) = self->socket_;
    return self->socket_;
  }

  static const BIO_METHOD* Get() {
    static const BIO_METHOD* const method = [] {
      // With a descriptor: it is needed to find a refused peer's address.
      BIO_METHOD* const made = BIO_meth_new(
          BIO_get_new_index() | BIO_TYPE_SOURCE_SINK | BIO_TYPE_DESCRIPTOR,
          "kamino link");
      BIO_meth_set_read_ex(made, &Read);
      BIO_meth_set_write_ex(made, &Write);
      BIO_meth_set_ctrl(made, &Control);
      return made;
    }();
    return method;
  }
};

absl::StatusOr<std::unique_ptr<TlsStream>> TlsStream::Make(
    std::shared_ptr<const TlsSetup> setup, bool connector, int socket) {
  SSL_CTX* const context = setup->context(connector);
  std::unique_ptr<TlsStream> stream(new TlsStream(std::move(setup), socket));
  stream->ssl_ = SSL_new(context);
  BIO* const bio = BIO_new(Method::Get());
  if (stream->ssl_ == nullptr || bio == nullptr) {
    BIO_free(bio);
    return absl::ResourceExhaustedError(security::OpenSslError());
  }
  BIO_set_data(bio, stream.get());
  BIO_set_init(bio, 1);
  SSL_set_bio(stream->ssl_, bio, bio);  // owns it now
  if (connector) {
    SSL_set_connect_state(stream->ssl_);
  } else {
    SSL_set_accept_state(stream->ssl_);
  }
  return stream;
}

TlsStream::~TlsStream() {
  if (ssl_ != nullptr) SSL_free(ssl_);
}

// --- Errors.

absl::StatusOr<TlsInput::Filled> TlsStream::Fill() {
  ASSIGN_OR_RETURN(const TlsInput::Filled filled, input_.Fill());
  if (filled != TlsInput::Filled::kNotTls) return filled;
  broken_ = true;
  refusal_ = LinkRefusal::kPlaintext;
  return absl::FailedPreconditionError(
      "it does not speak TLS, but this side accepts links over TLS only");
}

absl::Status TlsStream::AlertFailure(int alert) {
  refusal_ = LinkRefusal::kHandshake;
  const std::string text = SSL_alert_desc_string_long(alert);
  if (IsOfCertificates(alert)) {
    return absl::UnauthenticatedError(
        absl::StrCat("the peer rejects this side's certificate: ", text));
  }
  if (done_) {
    return absl::DataLossError(
        absl::StrCat("the peer has ended it with an alert: ", text));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the peer refuses the handshake of TLS (", text,
                   "): it accepts only links without TLS, or none from the "
                   "identity of this side; its log says why"));
}

absl::Status TlsStream::Failure() {
  broken_ = true;
  refusal_ = LinkRefusal::kHandshake;
  const unsigned long error = ERR_peek_last_error();
  const int reason = ERR_GET_REASON(error);
  const std::string text = security::OpenSslError();
  if (ERR_GET_LIB(error) == ERR_LIB_SSL) {
    if (reason > SSL_AD_REASON_OFFSET) {
      return AlertFailure(reason - SSL_AD_REASON_OFFSET);
    }
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
      refusal_ = LinkRefusal::kCertificate;
      told_ = true;
      return absl::UnauthenticatedError(absl::StrCat(
          "its certificate is not believed: ",
          X509_verify_cert_error_string(SSL_get_verify_result(ssl_))));
    }
    if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
      refusal_ = LinkRefusal::kCertificate;
      return absl::UnauthenticatedError("it shows no certificate");
    }
  }
  if (done_) {
    return absl::DataLossError(
        absl::StrCat("the received data is not what the peer sent: ", text));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the TLS handshake failed: ", text));
}

// --- The stream.

absl::StatusOr<bool> TlsStream::Handshake() {
  while (!done_) {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_);
    const int why = result == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_, result);
    if (result == 1) {
      done_ = true;
    } else if (why != SSL_ERROR_WANT_READ) {
      const absl::Status failure = Failure();
      (void)Flush();  // the alert
      return failure;
    }
    RETURN_IF_ERROR(Flush().status());
    if (done_) break;
    ASSIGN_OR_RETURN(const TlsInput::Filled filled, Fill());
    if (filled == TlsInput::Filled::kNothing) return false;
    if (filled == TlsInput::Filled::kEnd) {
      broken_ = true;
      return absl::UnavailableError("the peer left during the TLS handshake");
    }
  }
  fed_ = 0;
  const unsigned char* chosen = nullptr;
  unsigned int length = 0;
  SSL_get0_alpn_selected(ssl_, &chosen, &length);
  if (length + 1 != kProtocolBytes ||
      std::memcmp(chosen, kProtocol + 1, length) != 0) {
    broken_ = true;
    refusal_ = LinkRefusal::kHandshake;
    return absl::FailedPreconditionError(
        "it speaks TLS, but not the protocol of links");
  }
  return Flush();
}

absl::StatusOr<security::Certificate> TlsStream::Peer() const {
  return security::Certificate::OfPeer(*ssl_);
}

absl::StatusOr<size_t> TlsStream::Receive(absl::Span<std::byte> to) {
  while (true) {
    size_t got = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_, to.data(), to.size(), &got);
    if (result == 1) {
      fed_ = 0;
      return got;
    }
    switch (SSL_get_error(ssl_, result)) {
      case SSL_ERROR_WANT_READ:
        break;
      case SSL_ERROR_WANT_WRITE:
        broken_ = true;
        return absl::DataLossError(
            "the peer requests TLS replies, but does not read them");
      case SSL_ERROR_ZERO_RETURN:
        return absl::UnavailableError("closed by the peer");
      default: {
        const absl::Status failure = Failure();
        (void)Flush();
        return failure;
      }
    }
    RETURN_IF_ERROR(Flush().status());  // an answer of OpenSSL's own
    ASSIGN_OR_RETURN(const TlsInput::Filled filled, Fill());
    if (filled == TlsInput::Filled::kNothing) return size_t{0};
    if (filled == TlsInput::Filled::kEnd) {
      broken_ = true;
      return absl::UnavailableError(
          "cut: the connection ended without a TLS close of the peer");
    }
  }
}

absl::StatusOr<size_t> TlsStream::Write(const iovec* pieces, size_t count) {
  // While the socket takes nothing, encrypting more is not worthwhile; data
  // waits outside.
  ASSIGN_OR_RETURN(const bool room, Flush());
  if (!room) return size_t{0};
  size_t taken = 0;
  Cutter cutter(pieces, count);
  while (true) {
    if (waiting() >= kGathered) {
      ASSIGN_OR_RETURN(const bool flushed, Flush());
      if (!flushed) return taken;
    }
    const absl::Span<const std::byte> record = cutter.Next();
    if (record.empty()) break;
    size_t written = 0;
    ERR_clear_error();
    if (SSL_write_ex(ssl_, record.data(), record.size(), &written) != 1 ||
        written != record.size()) {
      return Failure();
    }
    taken += written;
    sent_by_key_ += written + kRecordCost;
    if (sent_by_key_ >= setup_->bytes_of_key()) RETURN_IF_ERROR(RenewKey());
  }
  RETURN_IF_ERROR(Flush().status());
  return taken;
}

// The peer learns it with the next record; its own key stays the same.
absl::Status TlsStream::RenewKey() {
  ERR_clear_error();
  if (SSL_key_update(ssl_, SSL_KEY_UPDATE_NOT_REQUESTED) != 1) return Failure();
  sent_by_key_ = 0;
  ++keys_taken_;
  return absl::OkStatus();
}

void TlsStream::SayEnd() {
  if (!done_ || broken_ || waiting() > 0) return;
  ERR_clear_error();
  SSL_shutdown(ssl_);
  (void)Flush();
  ERR_clear_error();
}

}  // namespace kamino::transport
