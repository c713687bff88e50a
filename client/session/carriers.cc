#include "client/session/carriers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/host_id.h"
#include "proto/session_frame.h"
#include "security/identity.h"
#include "transport/shm/shm_transport.h"
#include "transport/tcp/tcp_transport.h"
#include "transport/verbs/choose_port.h"
#include "transport/verbs/ibverbs_device.h"
#include "transport/verbs/send_transport.h"

namespace kamino::client {
namespace {

constexpr size_t kRingBytes = size_t{8} << 20;
// How long a thread that has just received an answer polls for the next one.
constexpr absl::Duration kSpin = absl::Microseconds(20);
constexpr absl::Duration kConnectTimeout = absl::Seconds(1);

}  // namespace

Carriers::Carriers(std::string only,
                   std::shared_ptr<transport::VerbsApi> devices,
                   std::shared_ptr<security::Certificates> certificates)
    : only_(std::move(only)),
      devices_(devices != nullptr ? std::move(devices)
                                  : transport::SystemVerbs()),
      certificates_(std::move(certificates)) {}

absl::Status Carriers::Check(absl::string_view only) {
  if (only.empty() || only == "shm" || only == "verbs" || only == "tcp" ||
      only == "grpc") {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no carrier \"", only,
                   "\"; it is shm, verbs, tcp, grpc or unary"));
}

Carriers::~Carriers() {
  rendezvous_->Stop();
  passes_->Stop();
  // Links end on the loop's thread, which may still call Find.
  std::map<std::string, std::unique_ptr<transport::Transport>> transports;
  std::shared_ptr<transport::EventLoop> loop;
  {
    absl::MutexLock lock(&mutex_);
    transports.swap(transports_);
    loop = std::move(loop_);
  }
  transports.clear();
  if (loop != nullptr) loop->Stop();
}

bool Carriers::Takes(const std::string& kind) const {
  if (kind != "shm" && kind != "verbs" && kind != "tcp") return false;
  return only_.empty() || only_ == kind;
}

absl::StatusOr<transport::TransportFactory> Carriers::FactoryOf(
    const std::string& kind) {
  if (kind == "shm") {
    return transport::ShmTransports("/tmp", {/*registry=*/nullptr, passes_});
  }
  if (kind == "tcp") return transport::TcpTransports();
  // Without a port, RDMA is neither tried nor logged.
  const auto port = transport::OpenPort(devices_.get(), {});
  if (!port.ok()) return port.status();
  return transport::VerbsSendTransports({{}, rendezvous_, devices_});
}

transport::Transport* Carriers::Find(const std::string& kind) {
  absl::MutexLock lock(&mutex_);
  std::unique_ptr<transport::Transport>& known = transports_[kind];
  if (known != nullptr) return known.get();
  const auto factory = FactoryOf(kind);
  if (!factory.ok()) return nullptr;
  if (loop_ == nullptr) {
    auto loop = transport::EventLoop::Start(kSpin, "kamino client");
    if (!loop.ok()) return nullptr;
    loop_ = *std::move(loop);
  }
  transport::TransportOptions options;
  options.max_message = session::kMaxFrameBytes;
  options.send_buffer = kRingBytes;
  options.ring_bytes = kRingBytes;
  options.spin = kSpin;
  options.connect_timeout = kConnectTimeout;
  options.loop = loop_;
  options.certificates = certificates_;
  auto made = factory->Make(options);
  if (!made.ok()) return nullptr;
  known = *std::move(made);
  return known.get();
}

std::vector<WireMaker> Carriers::Ways(
    const kamino::v1::GetCarriersResponse& node,
    std::shared_ptr<kamino::v1::SessionService::Stub> stub) {
  std::vector<WireMaker> ways;
  const std::string host_id = HostId();
  // The node's identity, from the certificate that the stub's channel has
  // checked.
  std::string named;
  if (certificates_ != nullptr) {
    named = security::ToString({certificates_->identity().cluster,
                                security::Role::kNode, node.node_id()});
  }
  for (const kamino::v1::Carrier& carrier : node.carriers()) {
    const std::string& kind = carrier.transport();
    if (!Takes(kind) ||
        (!carrier.host_id().empty() && carrier.host_id() != host_id)) {
      continue;
    }
    transport::Transport* const transport = Find(kind);
    if (transport == nullptr) continue;
    if (kind == "verbs") rendezvous_->Know(carrier.address(), stub);
    if (kind == "shm") passes_->Know(carrier.address(), stub);
    ways.push_back([transport, named, address = carrier.address()](
                       std::shared_ptr<WireHandler> handler) {
      return OpenLinkWire(transport, address, named, std::move(handler));
    });
  }
  if (only_.empty() || only_ == "grpc") {
    ways.push_back([stub](std::shared_ptr<WireHandler> handler) {
      return OpenStreamWire(stub, std::move(handler));
    });
  }
  return ways;
}

}  // namespace kamino::client
