// Two ends of links over TLS, each with certificates of its own, for tests.
#ifndef KAMINO_TESTS_TRANSPORT_TLS_LINK_FIXTURE_H_
#define KAMINO_TESTS_TRANSPORT_TLS_LINK_FIXTURE_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "security/certificates.h"
#include "security/identity.h"
#include "tests/patience.h"
#include "tests/security/test_certificates.h"
#include "tests/transport/link_rig.h"
#include "transport/socket/preface.h"
#include "transport/tcp/frame.h"

namespace kamino::transport {

inline const security::Identity kNode = {"kamino", security::Role::kNode, "n1"};
inline const security::Identity kWriter = {"kamino", security::Role::kWriter,
                                           "app"};

inline std::string Text(const Preface& preface) {
  return std::string(reinterpret_cast<const char*>(&preface), kPrefaceBytes);
}

inline std::string Framed(absl::string_view message) {
  const FrameHead head = MakeFrameHead(Bytes(message), {});
  return std::string(reinterpret_cast<const char*>(&head), sizeof(head)) +
         std::string(message);
}

inline std::string Hello() {
  return Text(
      MakePreface(SocketKind::kTcp, SocketSide::kConnector, 1 << 20, 0));
}

// Counts of a listener.
class Counted final : public ListenerEvents {
 public:
  explicit Counted(absl::Mutex* mutex) : mutex_(mutex) {}
  void OnHalfOpen(int change) override {
    absl::MutexLock lock(mutex_);
    half_open += change;
  }
  void OnEstablished(absl::Duration) override {
    absl::MutexLock lock(mutex_);
    ++established;
  }
  void OnRefused(LinkRefusal why) override {
    absl::MutexLock lock(mutex_);
    ++refused[why];
  }
  int half_open = 0;
  int established = 0;
  std::map<LinkRefusal, int> refused;

 private:
  absl::Mutex* const mutex_;
};

class TlsLinkTest : public ::testing::Test {
 protected:
  TlsLinkTest()
      : of_server_(authority_.Load(kNode, [this] { return now_; })),
        of_client_(authority_.Load(kWriter)) {
    rig_.options.connect_timeout = Patience(absl::Seconds(20));
  }

  // The server, with what of_server_ and options are then.
  void Serve() {
    TransportOptions& options = rig_.options;
    options.certificates = of_server_;
    options.events = events_;
    server_ = rig_.NewTransport();
    listener_ = std::make_unique<RecordingListener>(&rig_, server_.get());
    options.events = nullptr;
    options.admit = nullptr;
    options.certificates = of_client_;
  }

  // A connector with the rig's options; connects to `address`, or the listener.
  std::shared_ptr<Recorder> Connect(const std::string& address = "") {
    clients_.push_back(rig_.NewTransport());
    auto recorder = rig_.NewRecorder();
    auto link = clients_.back()->Connect(
        address.empty() ? listener_->address() : address, recorder);
    EXPECT_TRUE(link.ok()) << link.status();
    return recorder;
  }

  bool Established(const std::shared_ptr<Recorder>& recorder) {
    return rig_.Until([&] {
      return recorder->closed != 0 ||
             (recorder->connected == 1 && !listener_->accepted.empty());
    }) && recorder->closed == 0;
  }

  absl::Status WhyClosed(const std::shared_ptr<Recorder>& recorder) {
    EXPECT_TRUE(rig_.Until([&] { return recorder->closed == 1; }));
    absl::MutexLock lock(rig_.mutex());
    return recorder->why;
  }

  bool Refused(LinkRefusal why, int times = 1) {
    return rig_.Until([&] { return events_->refused[why] == times; });
  }

  // No link was established or announced.
  void ExpectNoLink() {
    absl::MutexLock lock(rig_.mutex());
    EXPECT_THAT(listener_->accepted, ::testing::IsEmpty());
    EXPECT_EQ(events_->established, 0);
  }

  // The client gets a link, after all.
  void ExpectService() {
    const auto recorder = Connect();
    EXPECT_TRUE(Established(recorder)) << recorder->why;
  }

  security::TestAuthority authority_;
  absl::Time now_ = absl::Now();  // the server's
  LinkRig rig_{"tcp"};
  const std::shared_ptr<Counted> events_ =
      std::make_shared<Counted>(rig_.mutex());
  std::shared_ptr<security::Certificates> of_server_;
  std::shared_ptr<security::Certificates> of_client_;
  std::unique_ptr<Transport> server_;
  std::unique_ptr<RecordingListener> listener_;
  std::vector<std::unique_ptr<Transport>> clients_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TESTS_TRANSPORT_TLS_LINK_FIXTURE_H_
