#include "tests/transport/link_rig.h"

#include <stdlib.h>

#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/patience.h"
#include "tests/security/test_certificates.h"
#include "transport/loop/event_loop.h"
#include "transport/shm/shm_transport.h"
#include "transport/tcp/tcp_transport.h"
#include "transport/verbs/ibverbs_device.h"
#include "transport/verbs/local_rendezvous.h"
#include "transport/verbs/send_transport.h"
#include "transport/verbs/verbs_transport.h"

namespace kamino::transport {
namespace {

// Only a failing test waits that long.
const absl::Duration kPatience = Patience(absl::Seconds(30));

absl::string_view WithoutGuest(absl::string_view kind) {
  return absl::StripSuffix(kind, LinkRig::kGuest);
}

absl::string_view WithoutKnown(absl::string_view kind) {
  return absl::StripSuffix(WithoutGuest(kind), LinkRig::kKnown);
}

// As one over calls with certificates does.
class KnownRendezvous final : public VerbsRendezvous {
 public:
  explicit KnownRendezvous(std::shared_ptr<security::Certificates> of)
      : of_(std::move(of)) {}

  absl::StatusOr<std::string> Listen(const std::string& address,
                                     Answerer answerer) override {
    return local_.Listen(
        address, [this, answerer](const VerbsEndpoint& offer, Reply reply) {
          answerer(*Known(offer), std::move(reply));
        });
  }
  void StopListening(const std::string& address) override {
    local_.StopListening(address);
  }
  void Exchange(const std::string& address, const VerbsEndpoint& offer,
                absl::Duration timeout, Reply reply) override {
    local_.Exchange(address, offer, timeout,
                    [this, reply](absl::StatusOr<VerbsEndpoint> answer) {
                      reply(answer.ok() ? Known(*answer) : std::move(answer));
                    });
  }

 private:
  absl::StatusOr<VerbsEndpoint> Known(VerbsEndpoint end) const {
    end.sender = of_->Current()->own;
    return end;
  }

  const std::shared_ptr<security::Certificates> of_;
  LocalRendezvous local_;
};

// Likewise.
class LocalSource final : public PassSource {
 public:
  LocalSource(std::shared_ptr<PassRegistry> registry,
              std::shared_ptr<security::Certificates> of)
      : registry_(std::move(registry)), of_(std::move(of)) {}

  void Ask(const std::string&, absl::Duration, Reply reply) override {
    const security::Certificate& own = of_->Current()->own;
    auto pass = registry_->Issue(own);
    if (!pass.ok()) return reply(pass.status());
    reply(Granted{*pass, own});
  }

 private:
  const std::shared_ptr<PassRegistry> registry_;
  const std::shared_ptr<security::Certificates> of_;
};

std::shared_ptr<security::Certificates> CertificatesFor(bool known) {
  if (!known) return nullptr;
  return security::TestAuthority().Load(LinkRig::identity());
}

const char* RealDevice() { return ::getenv("KAMINO_VERBS_DEVICE"); }

class Endpoint final : public simulation::Process {
 public:
  Endpoint(simulation::World* world, std::string name)
      : Process(world, std::move(name)) {
    Begin();
  }
};

}  // namespace

absl::Span<const std::byte> Bytes(absl::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

void Recorder::OnConnected(const std::shared_ptr<Link>& made) {
  {
    absl::MutexLock lock(mutex_);
    EXPECT_EQ(closed, 0);
    EXPECT_TRUE(messages.empty()) << "a message before OnConnected";
    link = made;
    ++connected;
  }
  if (on_connected) on_connected(made);
}

void Recorder::OnMessage(absl::Span<const std::byte> message) {
  std::function<void()> callback;
  {
    absl::MutexLock lock(mutex_);
    callback = with_each_message_;
    EXPECT_EQ(closed, 0) << "a message after OnClosed";
    messages.emplace_back(reinterpret_cast<const char*>(message.data()),
                          message.size());
  }
  if (callback) callback();
}

void Recorder::WithEachMessage(std::function<void()> callback) {
  absl::MutexLock lock(mutex_);
  with_each_message_ = std::move(callback);
}

void Recorder::OnWritable() {
  absl::MutexLock lock(mutex_);
  EXPECT_EQ(closed, 0) << "writable after OnClosed";
  ++writable;
}

void Recorder::OnClosed(const absl::Status& status) {
  absl::MutexLock lock(mutex_);
  EXPECT_EQ(closed, 0) << "closed twice";
  EXPECT_FALSE(status.ok());
  why = status;
  ++closed;
}

LinkRig::LinkRig(std::string kind)
    : kind_(absl::StripSuffix(WithoutKnown(kind), kSends)),
      guests_(absl::EndsWith(kind, kGuest)),
      known_(absl::EndsWith(WithoutGuest(kind), kKnown)),
      sends_(absl::EndsWith(WithoutKnown(kind), kSends)) {
  options.certificates = CertificatesFor(known_);
  if (known_) {
    rendezvous_ = std::make_shared<KnownRendezvous>(options.certificates);
  } else {
    rendezvous_ = std::make_shared<LocalRendezvous>();
  }
  options.max_message = size_t{1} << 20;
  options.send_buffer = size_t{2} << 20;
  options.ring_bytes = size_t{2} << 20;
  // A socket's path is short; the test's own folder need not be.
  char folder[] = "/tmp/kamino-link-XXXXXX";
  folder_ = ::mkdtemp(folder);
  if (kind_ == "verbs" && RealDevice() == nullptr) {
    fabric_ = std::make_shared<FakeFabric>();
  }
}

LinkRig::~LinkRig() {
  for (const auto& loop : loops_) loop->Stop();
  std::filesystem::remove_all(folder_);
}

TransportFactory LinkRig::Factory() {
  if (kind_ == "tcp") return TcpTransports();
  if (kind_ == "shm") {
    if (!known_) return ShmTransports(folder_);
    return ShmTransports(folder_,
                         {registry_, std::make_shared<LocalSource>(
                                         registry_, options.certificates)});
  }
  if (!simulated()) {
    VerbsSetup setup{{}, rendezvous_, fabric_};
    if (fabric_ == nullptr) {
      setup.wish.device = RealDevice();
      setup.api = SystemVerbs();
    }
    return sends_ ? VerbsSendTransports(std::move(setup))
                  : VerbsTransports(std::move(setup));
  }
  if (network_ == nullptr) {
    simulation::TimedNetwork::Options sim;
    sim.credits = options.send_buffer;
    network_ = std::make_unique<simulation::TimedNetwork>(&world_, sim);
  }
  processes_.push_back(std::make_unique<Endpoint>(
      &world_, absl::StrCat("endpoint", processes_.size())));
  return network_->Transports(processes_.back().get(), {.name = "sim"});
}

std::unique_ptr<Transport> LinkRig::NewTransport() {
  TransportOptions own = options;
  if (guests_) {
    own.loop = *EventLoop::Start(options.spin);
    loops_.push_back(own.loop);
  }
  auto transport = Factory().Make(own);
  EXPECT_TRUE(transport.ok()) << transport.status();
  return transport.ok() ? *std::move(transport) : nullptr;
}

std::string LinkRig::NewAddress() {
  return kind_ == "tcp" ? "127.0.0.1:0" : absl::StrCat("link", ++addresses_);
}

std::shared_ptr<Recorder> LinkRig::NewRecorder() {
  return std::make_shared<Recorder>(&mutex_);
}

bool LinkRig::Until(absl::FunctionRef<bool()> happened) {
  const auto locked = [&] {
    absl::MutexLock lock(&mutex_);
    return happened();
  };
  if (simulated()) {
    while (!locked()) {
      if (!world_.Step()) return false;
    }
    return true;
  }
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&happened), kPatience);
}

RecordingListener::RecordingListener(LinkRig* rig, Transport* transport) {
  auto listener = transport->Listen(rig->NewAddress(),
                                    [this, rig](std::shared_ptr<Link> link) {
                                      absl::MutexLock lock(rig->mutex());
                                      if (refuse)
                                        return std::shared_ptr<Recorder>();
                                      accepted.push_back(rig->NewRecorder());
                                      accepted.back()->link = std::move(link);
                                      return accepted.back();
                                    });
  EXPECT_TRUE(listener.ok()) << listener.status();
  if (listener.ok()) listener_ = *std::move(listener);
}

}  // namespace kamino::transport
