#include "transport/sim/sim_network.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "transport/sim/sim_core.h"

namespace kamino::transport {
namespace {

class SimListener final : public Listener {
 public:
  SimListener(std::shared_ptr<SimCore> core, std::string address, uint64_t id)
      : core_(std::move(core)), address_(std::move(address)), id_(id) {}
  ~SimListener() override { core_->RemovePort(address_, id_); }
  const std::string& address() const override { return address_; }

 private:
  const std::shared_ptr<SimCore> core_;
  const std::string address_;
  const uint64_t id_;
};

class SimTransport final : public Transport {
 public:
  SimTransport(std::shared_ptr<SimCore> core, std::string endpoint)
      : core_(std::move(core)), endpoint_(std::move(endpoint)) {}
  ~SimTransport() override {
    stopping_ = true;
    core_->CloseEndpoint(endpoint_);
  }

  absl::StatusOr<std::unique_ptr<Listener>> Listen(const std::string& address,
                                                   Acceptor acceptor) override {
    if (stopping_) return absl::UnavailableError("being destroyed");
    const uint64_t id = core_->AddPort(address, endpoint_, std::move(acceptor));
    if (id == 0) {
      return absl::AlreadyExistsError(
          absl::StrCat("sim address ", address, " is already in use"));
    }
    return std::make_unique<SimListener>(core_, address, id);
  }

  absl::StatusOr<std::shared_ptr<Link>> Connect(
      const std::string& address,
      std::shared_ptr<LinkHandler> handler) override {
    CHECK(handler != nullptr);
    if (stopping_) return absl::UnavailableError("being destroyed");
    auto link = core_->Connect(endpoint_, address, std::move(handler));
    if (link == nullptr) return absl::UnavailableError("the network is gone");
    return link;
  }

 private:
  const std::shared_ptr<SimCore> core_;
  const std::string endpoint_;
  bool stopping_ = false;
};

}  // namespace

SimNetwork::SimNetwork(const Options& options)
    : core_(std::make_shared<SimCore>(options)) {}

SimNetwork::~SimNetwork() { core_->Shutdown(); }

std::unique_ptr<Transport> SimNetwork::NewTransport(
    const std::string& endpoint, std::function<uint64_t()> epoch) {
  core_->SetEpoch(endpoint, std::move(epoch));
  return std::make_unique<SimTransport>(core_, endpoint);
}

bool SimNetwork::Step() { return core_->Step(); }

size_t SimNetwork::RunUntilIdle(size_t limit) {
  size_t steps = 0;
  while (steps < limit && Step()) ++steps;
  return steps;
}

void SimNetwork::Cut(const std::string& a, const std::string& b) {
  core_->SetCut(a, b, true);
}

void SimNetwork::Heal(const std::string& a, const std::string& b) {
  core_->SetCut(a, b, false);
}

void SimNetwork::Break(const std::string& a, const std::string& b) {
  core_->Break(a, b);
}

}  // namespace kamino::transport
