// An attacker that speaks the protocol of chain links, driven by a test. It
// connects to a node over tcp, sends the messages of a file, and prints what it
// receives, one line each, until the time is over or the link has ended.
//
//   attacker --address=127.0.0.1:7001 --frames=FILE --wait_ms=2000
//
// A line of the file is a ChainMessage as text, then, behind a tab, its payload
// in hexadecimal digits. "raw", a tab and digits are a message as they are.
// With --attacker_cert, --attacker_key and --attacker_ca it shows that
// certificate. --list_kinds prints the kinds of messages that there are.
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "glog/logging.h"
#include "google/protobuf/text_format.h"
#include "kamino/internal/v1/chain.pb.h"
#include "replica/link/chain_frame.h"
#include "security/certificates.h"
#include "transport/tcp/tcp_transport.h"

ABSL_FLAG(std::string, address, "", "host:port of a node's link listener");
ABSL_FLAG(std::string, frames, "", "file with what is said");
ABSL_FLAG(bool, list_kinds, false, "print the kinds of messages, and end");
ABSL_FLAG(int, wait_ms, 2000, "how long it listens");
ABSL_FLAG(std::string, attacker_cert, "", "certificate that it shows (PEM)");
ABSL_FLAG(std::string, attacker_key, "", "its key");
ABSL_FLAG(std::string, attacker_ca, "", "whom it believes");

namespace kamino {
namespace {

using kamino::internal::v1::ChainMessage;

absl::Span<const std::byte> AsBytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string FrameOf(const std::string& line) {
  const std::vector<std::string> parts = absl::StrSplit(line, '\t');
  const std::string payload =
      parts.size() > 1 ? absl::HexStringToBytes(parts[1]) : "";
  if (parts[0] == "raw") return payload;
  ChainMessage message;
  CHECK(google::protobuf::TextFormat::ParseFromString(parts[0], &message))
      << line;
  return replica::EncodeFrameHead(message) + payload;
}

std::vector<std::string> ReadFrames() {
  std::vector<std::string> frames;
  std::ifstream file(absl::GetFlag(FLAGS_frames));
  CHECK(file.good()) << absl::GetFlag(FLAGS_frames);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) frames.push_back(FrameOf(line));
  }
  return frames;
}

class Attacker final : public transport::LinkHandler {
 public:
  explicit Attacker(std::vector<std::string> frames)
      : frames_(std::move(frames)) {}

  void OnConnected(const std::shared_ptr<transport::Link>& link) override {
    std::printf("connected\n");
    for (const std::string& frame : frames_) {
      (void)link->Send(AsBytes(frame), {});
    }
  }
  void OnMessage(absl::Span<const std::byte> bytes) override {
    const auto frame = replica::DecodeFrame(
        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!frame.ok()) {
      std::printf("heard nonsense\n");
      return;
    }
    std::printf("heard %s\n",
                frame->message.ShortDebugString().substr(0, 300).c_str());
  }
  void OnClosed(const absl::Status& why) override {
    std::printf("closed %s\n", why.ToString().c_str());
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }

  void AwaitEnd(absl::Duration most) {
    absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&closed_), most);
  }

 private:
  const std::vector<std::string> frames_;
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

std::shared_ptr<security::Certificates> OwnCertificates() {
  if (absl::GetFlag(FLAGS_attacker_cert).empty()) return nullptr;
  security::Certificates::Options options;
  options.files = {absl::GetFlag(FLAGS_attacker_cert),
                   absl::GetFlag(FLAGS_attacker_key),
                   absl::GetFlag(FLAGS_attacker_ca), ""};
  auto loaded = security::Certificates::Load(options);
  CHECK(loaded.ok()) << loaded.status();
  return *std::move(loaded);
}

void ListKinds() {
  const auto* const kinds =
      ChainMessage::descriptor()->FindOneofByName("message");
  CHECK(kinds != nullptr);
  for (int i = 0; i < kinds->field_count(); ++i) {
    std::printf("%s\n", kinds->field(i)->name().c_str());
  }
}

void Attack() {
  transport::TransportOptions options;
  options.certificates = OwnCertificates();
  auto attacker = std::make_shared<Attacker>(ReadFrames());
  auto transport = transport::TcpTransports().Make(options);
  CHECK(transport.ok()) << transport.status();
  auto link = (*transport)->Connect(absl::GetFlag(FLAGS_address), attacker);
  CHECK(link.ok()) << link.status();
  attacker->AwaitEnd(absl::Milliseconds(absl::GetFlag(FLAGS_wait_ms)));
}

}  // namespace
}  // namespace kamino

int main(int argc, char** argv) {
  google::InitGoogleLogging(argv[0]);
  absl::ParseCommandLine(argc, argv);
  if (absl::GetFlag(FLAGS_list_kinds)) {
    kamino::ListKinds();
    return 0;
  }
  kamino::Attack();
  return 0;
}
