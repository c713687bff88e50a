// Peers of links that do what no correct one does: sockets, TLS by hand, and a
// relay that passes bytes on as it likes.
#ifndef KAMINO_TESTS_TRANSPORT_RAW_TLS_H_
#define KAMINO_TESTS_TRANSPORT_RAW_TLS_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/string_view.h"
#include "openssl/types.h"
#include "security/certificates.h"
#include "security/tls_context.h"

namespace kamino::transport {

// A plain socket that is connected to 127.0.0.1 of that address's port.
int KnockAtPort(const std::string& address);
// Reads to the end of the stream, which must come; returns what came.
std::string ReadAll(int socket);

// A client whose calls wait.
class RawTls {
 public:
  // `protocol`: what it says it speaks, "" for nothing.
  RawTls(const security::Certificates* certificates, const std::string& address,
         const std::string& protocol = "kamino-link");
  ~RawTls();

  // False: the other side has refused.
  bool Handshake();
  void Say(absl::string_view bytes);
  // Some bytes; "": the end, of which ended() says whether it was told.
  std::string Hear();
  bool ended() const { return ended_; }
  // Says that this is the end, and is gone.
  void End();
  // Is gone without a word.
  void Cut();
  // Returns the TLS record of `bytes` without sending it.
  std::string Record(absl::string_view bytes);
  int socket() const { return socket_; }
  SSL* ssl() const { return ssl_; }

 private:
  security::TlsContext context_;
  int socket_;
  SSL* ssl_;
  bool ended_ = false;
};

// Listens and passes on, both ways, in pieces of at most `piece` bytes, through
// sockets with buffers as small as there are.
class Relay {
 public:
  // `change`: called with each piece, and which way it goes; false: the relay
  // ends both connections at once.
  using Change = std::function<bool(bool forth, std::string* piece)>;
  Relay(std::string to, size_t piece, Change change = nullptr);
  ~Relay();
  const std::string& address() const { return address_; }

 private:
  void Run();
  bool Pump(int from, int to, bool forth);

  const std::string to_;
  const size_t piece_;
  const Change change_;
  int listener_;
  int wake_;
  std::string address_;
  std::thread thread_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TESTS_TRANSPORT_RAW_TLS_H_
