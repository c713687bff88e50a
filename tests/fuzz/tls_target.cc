// Input before a link's peer is known: TLS of a stranger, or of a peer whose
// bytes an attacker changes on the way; and certificates' names.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "glog/logging.h"
#include "security/authority.h"
#include "security/certificates.h"
#include "security/identity.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"
#include "transport/tcp/tls_stream.h"

namespace kamino::fuzz {
namespace {

using security::Certificates;
using security::Identity;
using security::Role;
using transport::TlsSetup;
using transport::TlsStream;

constexpr size_t kMaxSteps = 400;
// More than OpenSSL may buffer of a peer that is not known.
constexpr size_t kMostWaiting = size_t{300} << 10;

const Identity kServer = {"fuzz", Role::kNode, "server"};
const Identity kClient = {"fuzz", Role::kNode, "client"};

// Setups of one authority; made once.
struct Setups {
  Setups() {
    const security::Validity validity = {absl::Now() - absl::Hours(1),
                                         absl::Now() + absl::Hours(1000)};
    const auto authority =
        security::Authority::Open(*security::Authority::Make("fuzz", validity));
    server = Load(*authority, kServer, validity);
    client = Load(*authority, kClient, validity);
    certificate = authority->Issue({kClient, {}}, validity)->certificate_pem;
  }

  static std::shared_ptr<const TlsSetup> Load(
      const security::Authority& authority, const Identity& who,
      security::Validity validity) {
    char folder[] = "/tmp/kamino-fuzz-tls-XXXXXX";
    CHECK(mkdtemp(folder) != nullptr);
    const std::string at = folder;
    const auto write = [&](const std::string& name, absl::string_view text) {
      std::ofstream(at + name) << text;
      return at + name;
    };
    const auto issued = authority.Issue({who, {}}, validity);
    Certificates::Options options;
    options.files.certificate = write("/own.pem", issued->certificate_pem);
    options.files.key = write("/own.key", issued->key_pem);
    options.files.authorities = write("/ca.pem", authority.certificate_pem());
    options.look = absl::InfiniteDuration();
    auto loaded = Certificates::Load(options);
    CHECK(loaded.ok()) << loaded.status();
    std::filesystem::remove_all(at);
    auto setup = TlsSetup::Make(std::move(*loaded));
    CHECK(setup.ok()) << setup.status();
    return *std::move(setup);
  }

  std::shared_ptr<const TlsSetup> server;
  std::shared_ptr<const TlsSetup> client;
  std::string certificate;
};

const Setups& GetSetups() {
  static const auto* const setups = new Setups;
  return *setups;
}

// One end, whose other side of the socket is the target's.
class End {
 public:
  End(const std::shared_ptr<const TlsSetup>& setup, bool connector,
      Identity peer)
      : peer_(std::move(peer)) {
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_), 0);
    stream_ = *TlsStream::Make(setup, connector, ends_[0]);
  }
  ~End() {
    stream_ = nullptr;
    close(ends_[0]);
    close(ends_[1]);
  }

  bool dead() const { return dead_; }
  bool known() const { return known_; }
  const std::string& received() const { return received_; }
  const std::string& sent() const { return sent_; }

  // Goes on as far as it can.
  void Step() {
    if (dead_) return;
    stream_->OnReadable(false);
    if (!known_) return Greet();
    std::byte bytes[3000];
    while (true) {
      const auto count = stream_->Receive(bytes);
      if (!count.ok()) return Die();
      if (*count == 0) break;
      received_.append(reinterpret_cast<const char*>(bytes), *count);
    }
    CHECK_LE(stream_->waiting(), kMostWaiting);
    if (sent_.size() > 100000) return;
    std::string message(1 + sent_.size() % 5000, 'a');
    message.back() = static_cast<char>('b' + sent_.size() % 20);
    const iovec piece = {message.data(), message.size()};
    const auto taken = stream_->Write(&piece, 1);
    if (!taken.ok()) return Die();
    sent_ += message.substr(0, *taken);
  }

  // Take returns the bytes for the other end; Give takes the other end's,
  // changed or not.
  std::string Take() {
    std::string all;
    char bytes[4096];
    ssize_t count;
    while ((count = recv(ends_[1], bytes, sizeof(bytes), 0)) > 0) {
      all.append(bytes, static_cast<size_t>(count));
    }
    return all;
  }
  void Give(absl::string_view bytes) {
    (void)!send(ends_[1], bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

 private:
  void Greet() {
    const auto done = stream_->Handshake();
    if (!done.ok()) return Die();
    if (!*done) return;
    const auto peer = stream_->Peer();
    CHECK(peer.ok()) << peer.status();
    CHECK(peer->identity() == peer_) << ToString(peer->identity());
    known_ = true;
  }
  void Die() { dead_ = true; }

  const Identity peer_;
  int ends_[2];
  std::unique_ptr<TlsStream> stream_;
  bool known_ = false;
  bool dead_ = false;
  std::string sent_;
  std::string received_;
};

// A stranger, which has no key, is never known.
void Stranger(Input input, bool to_connector) {
  End end(to_connector ? GetSetups().client : GetSetups().server, to_connector,
          to_connector ? kServer : kClient);
  for (size_t i = 0; i < kMaxSteps && !input.empty() && !end.dead(); ++i) {
    end.Step();
    end.Take();
    end.Give(input.Bytes(1 + input.Number(2) % 2000));
  }
  end.Step();
  CHECK(!end.known());
}

std::string Changed(std::string bytes, Input* input) {
  if (bytes.empty()) return bytes;
  const size_t at = input->Number(2) % bytes.size();
  switch (input->Number(1) % 16) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << input->Number(1) % 8));
      return bytes;
    case 1:
      return bytes.substr(0, at);
    case 2:
      return bytes.substr(0, at) + std::string(input->Bytes(20)) +
             bytes.substr(at);
    case 3:
      return bytes + bytes.substr(at);
    case 4:
      return bytes.substr(at);
    default:
      return bytes;
  }
}

// Two ends that know each other, with an attacker between them: each receives
// what the other has sent, or nothing more.
void Between(Input input) {
  End server(GetSetups().server, false, kClient);
  End client(GetSetups().client, true, kServer);
  for (size_t i = 0; i < kMaxSteps && !input.empty(); ++i) {
    client.Step();
    server.Give(Changed(client.Take(), &input));
    server.Step();
    client.Give(Changed(server.Take(), &input));
    CHECK_EQ(server.received(),
             client.sent().substr(0, server.received().size()));
    CHECK_EQ(client.received(),
             server.sent().substr(0, client.received().size()));
  }
}

void Names(Input input) {
  const absl::string_view text = input.Bytes(1000);
  for (const auto& identity :
       {security::IdentityFromUri(text), security::IdentityFromDnsName(text)}) {
    if (!identity.has_value()) continue;
    CHECK(security::CheckIdentity(*identity).ok()) << text;
    CHECK(security::IdentityFromUri(ToString(*identity)) == identity) << text;
  }
}

void Certificate(Input input) {
  const auto certificate = security::Certificate::Parse(input.Bytes(100000));
  if (!certificate.ok()) return;
  CHECK(security::CheckIdentity(certificate->identity()).ok());
}

void Run(absl::string_view bytes) {
  Input input(bytes);
  switch (input.Number(1) % 5) {
    case 0:
      return Stranger(input, false);
    case 1:
      return Stranger(input, true);
    case 2:
      return Between(input);
    case 3:
      return Names(input);
    default:
      return Certificate(input);
  }
}

// A client's first bytes, in pieces as Stranger has them.
std::string HelloSeed() {
  End client(GetSetups().client, true, kServer);
  client.Step();
  const std::string hello = client.Take();
  std::string bytes(1, '\0');
  AppendNumber(hello.size() - 1, 2, &bytes);
  return bytes + hello;
}

std::string AnswerSeed() {
  End server(GetSetups().server, false, kClient);
  End client(GetSetups().client, true, kServer);
  client.Step();
  server.Give(client.Take());
  server.Step();
  const std::string answer = server.Take();
  std::string bytes("\1");
  AppendNumber(answer.size() - 1, 2, &bytes);
  return bytes + answer;
}

// Nothing is changed; the mutations see to that.
std::string BetweenSeed() {
  std::string bytes("\2");
  for (int i = 0; i < 60; ++i) bytes += "\x10\x27\xf";
  return bytes;
}

std::vector<std::string> Seeds() {
  return {HelloSeed(),
          AnswerSeed(),
          BetweenSeed(),
          "\3kamino://fuzz/node/n1",
          "\3n1.node.fuzz.kamino",
          "\4" + GetSetups().certificate};
}

}  // namespace

Target TlsTarget() { return {"tls", Run, Seeds, MutateBytes}; }

TlsRun RunValidTls() {
  End server(GetSetups().server, false, kClient);
  End client(GetSetups().client, true, kServer);
  for (int i = 0; i < 60; ++i) {
    client.Step();
    server.Give(client.Take());
    server.Step();
    client.Give(server.Take());
  }
  return {client.known() && server.known(), server.received().size(),
          client.received().size()};
}

}  // namespace kamino::fuzz
