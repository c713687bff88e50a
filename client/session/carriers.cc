#include "client/session/carriers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/host_id.h"
#include "proto/session_frame.h"
#include "transport/shm/shm_transport.h"
#include "transport/tcp/tcp_transport.h"

namespace kamino::client {
namespace {

constexpr size_t kRingBytes = size_t{8} << 20;
// How long a thread that has just had an answer looks for the next one.
constexpr absl::Duration kSpin = absl::Microseconds(20);
constexpr absl::Duration kConnectTimeout = absl::Seconds(1);

}  // namespace

absl::Status Carriers::Check(absl::string_view only) {
  if (only.empty() || only == "shm" || only == "tcp" || only == "grpc") {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no carrier \"", only,
                                                 "\"; it is shm, tcp or grpc"));
}

Carriers::~Carriers() {
  // Links end on the loop's thread, and may still be asked for here.
  std::unique_ptr<transport::Transport> shm;
  std::unique_ptr<transport::Transport> tcp;
  std::shared_ptr<transport::EventLoop> loop;
  {
    absl::MutexLock lock(&mutex_);
    shm = std::move(shm_);
    tcp = std::move(tcp_);
    loop = std::move(loop_);
  }
  shm.reset();
  tcp.reset();
  if (loop != nullptr) loop->Stop();
}

transport::Transport* Carriers::Find(absl::string_view kind) {
  absl::MutexLock lock(&mutex_);
  std::unique_ptr<transport::Transport>& known = kind == "shm" ? shm_ : tcp_;
  if (known != nullptr) return known.get();
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
  const auto factory =
      kind == "shm" ? transport::ShmTransports() : transport::TcpTransports();
  auto made = factory.Make(options);
  if (!made.ok()) return nullptr;
  known = *std::move(made);
  return known.get();
}

std::vector<WireMaker> Carriers::Ways(
    const kamino::v1::GetCarriersResponse& node,
    std::shared_ptr<kamino::v1::SessionService::Stub> stub) {
  std::vector<WireMaker> ways;
  const std::string host_id = HostId();
  for (const kamino::v1::Carrier& carrier : node.carriers()) {
    const std::string& kind = carrier.transport();
    if ((kind != "shm" && kind != "tcp") || (!only_.empty() && only_ != kind) ||
        (!carrier.host_id().empty() && carrier.host_id() != host_id)) {
      continue;
    }
    transport::Transport* const transport = Find(kind);
    if (transport == nullptr) continue;
    ways.push_back([transport, address = carrier.address()](
                       std::shared_ptr<WireHandler> handler) {
      return OpenLinkWire(transport, address, std::move(handler));
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
