// The handles to a TimedNetwork that users of links hold.
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tests/simulation/timed_network.h"

namespace kamino::simulation {

using transport::AcceptCallback;
using transport::Capabilities;
using transport::Link;
using transport::LinkHandler;
using transport::Listener;
using transport::Transport;
using transport::TransportFactory;
using transport::TransportOptions;

class TimedLink final : public Link {
 public:
  TimedLink(TimedNetwork* network, TimedNetwork::Ref connection, int side)
      : network_(network), connection_(std::move(connection)), side_(side) {}

  absl::Status Send(absl::Span<const std::byte> header,
                    absl::Span<const std::byte> payload) override {
    std::string bytes(reinterpret_cast<const char*>(header.data()),
                      header.size());
    bytes.append(reinterpret_cast<const char*>(payload.data()), payload.size());
    return network_->SendOn(connection_, side_, std::move(bytes));
  }

  void Close() override { network_->Close(connection_, side_); }

  Capabilities capabilities() const override {
    return connection_->ends[side_].station->kind;
  }

  std::string peer() const override {
    const auto& station = connection_->ends[1 - side_].station;
    return station == nullptr ? connection_->address : station->owner->name();
  }

  std::string peer_identity() const override {
    const auto& station = connection_->ends[1 - side_].station;
    return station == nullptr ? "" : network_->IdentityOf(*station);
  }

 private:
  TimedNetwork* const network_;
  const TimedNetwork::Ref connection_;
  const int side_;
};

class TimedListener final : public Listener {
 public:
  TimedListener(TimedNetwork* network, std::string kind, std::string address,
                uint64_t id)
      : network_(network),
        kind_(std::move(kind)),
        address_(std::move(address)),
        id_(id) {}
  ~TimedListener() override { network_->StopListening(kind_, address_, id_); }
  const std::string& address() const override { return address_; }

 private:
  TimedNetwork* const network_;
  const std::string kind_;
  const std::string address_;
  const uint64_t id_;
};

class TimedTransport final : public Transport {
 public:
  TimedTransport(TimedNetwork* network,
                 std::shared_ptr<TimedNetwork::Station> station)
      : network_(network), station_(std::move(station)) {}
  ~TimedTransport() override { network_->Leave(station_, /*told=*/true); }

  absl::StatusOr<std::unique_ptr<Listener>> Listen(
      const std::string& address, AcceptCallback acceptor) override {
    const uint64_t id =
        network_->Listen(station_, address, std::move(acceptor));
    if (id == 0) {
      return absl::AlreadyExistsError(
          absl::StrCat("address ", address, " is already in use"));
    }
    return std::make_unique<TimedListener>(
        network_, std::string(station_->kind.name), address, id);
  }

  absl::StatusOr<std::shared_ptr<Link>> Connect(
      const std::string& address,
      std::shared_ptr<LinkHandler> handler) override {
    CHECK(handler != nullptr);
    if (station_->gone) return absl::UnavailableError("being destroyed");
    return network_->Connect(station_, address, std::move(handler));
  }

  void Expect(const std::string& address) override {
    station_->names->LookUp(address, absl::InfiniteFuture(),
                            [](const auto& /*found*/) {});
  }

 private:
  TimedNetwork* const network_;
  const std::shared_ptr<TimedNetwork::Station> station_;
};

TransportFactory TimedNetwork::Transports(Process* owner,
                                          const Capabilities& kind) {
  return {kind, [this, owner, kind](const TransportOptions& options) {
            auto station = std::make_shared<Station>();
            station->owner = owner;
            station->kind = kind;
            station->kind.max_message = options.max_message;
            station->era = options.era;
            station->admit = options.admit;
            station->names =
                std::make_shared<TimedNames>(world_, &name_server_);
            stations_.push_back(station);
            return std::make_unique<TimedTransport>(this, std::move(station));
          }};
}

std::shared_ptr<Link> TimedNetwork::Connect(
    const std::shared_ptr<Station>& station, const std::string& address,
    std::shared_ptr<LinkHandler> handler) {
  auto connection = std::make_shared<Connection>();
  connection->number = next_number_++;
  connection->address = address;
  connection->era = station->era ? station->era() : 0;
  auto link = std::make_shared<TimedLink>(this, connection, 0);
  End& end = connection->ends[0];
  end.station = station;
  end.handler = std::move(handler);
  end.link = link;
  end.number = 2 * station->opened++ + 1;
  connections_[connection->number] = connection;
  station->names->Find(address, [this, connection] {
    world_->After(Delay() + Delay(), [this, connection] { Knock(connection); });
  });
  return link;
}

void TimedNetwork::Accept(const Ref& connection, uint64_t port_id) {
  const End& opener = connection->ends[0];
  if (opener.handler == nullptr || opener.cancelled || connection->broken) {
    return;  // it is gone again
  }
  End& end = connection->ends[1];
  const auto port =
      ports_.find({std::string(end.station->kind.name), connection->address});
  if (port == ports_.end() || port->second.id != port_id) {
    return Refuse(connection, /*soon=*/true);
  }
  const std::string identity = IdentityOf(*opener.station);
  if (!identity.empty() && end.station->admit != nullptr &&
      !end.station->admit(identity).ok()) {
    return Refuse(connection, /*soon=*/true);
  }
  end.number = 2 * ++end.station->accepted;
  end.open = true;
  end.link = std::make_shared<TimedLink>(this, connection, 1);
  const AcceptCallback acceptor =
      port->second.acceptor;  // it may close the port
  end.handler = acceptor(end.link);
  if (end.handler == nullptr) {
    end.open = false;
    end.link.reset();
    return Refuse(connection, /*soon=*/true);
  }
  // Bytes that arrived before wait for it.
  ArriveSoon(connection, 1, end.incoming.size());
}

absl::Status TimedNetwork::SendOn(const Ref& connection, int side,
                                  std::string bytes) {
  End& from = connection->ends[side];
  End& to = connection->ends[1 - side];
  if (!from.open) return absl::UnavailableError("the link is not open");
  if (bytes.size() > from.station->kind.max_message) {
    return absl::InvalidArgumentError(
        absl::StrCat("message of ", bytes.size(), " bytes; the limit is ",
                     from.station->kind.max_message));
  }
  if (to.incoming_bytes > 0 &&
      to.incoming_bytes + bytes.size() > options_.credits) {
    from.blocked = true;
    return absl::ResourceExhaustedError("out of credits");
  }
  if (connection->broken || to.station->gone) return absl::OkStatus();  // lost
  if (tap_) {
    tap_({from.station->owner->name(), to.station->owner->name(), to.number,
          &bytes});
  }
  if (filter_ && !filter_({from.station->owner->name(),
                           to.station->owner->name(), to.number, &bytes})) {
    return absl::OkStatus();
  }
  to.incoming_bytes += bytes.size();
  to.incoming.push_back(std::move(bytes));
  to.last_arrival = std::max(to.last_arrival, world_->now() + Delay());
  world_->After(to.last_arrival - world_->now(),
                [this, connection, side] { Arrive(connection, 1 - side); });
  return absl::OkStatus();
}

void TimedNetwork::Close(const Ref& connection, int side) {
  End& end = connection->ends[side];
  if (end.handler == nullptr || end.cancelled) return;
  end.open = false;
  end.cancelled = true;
  world_->After(absl::ZeroDuration(), [this, connection, side] {
    if (connection->ends[side].handler == nullptr) return;
    connection->ends[side].station->owner->Deliver(
        [this, connection, side] { Finish(connection, side); });
  });
  // Bytes in flight may still arrive.
  Notify(connection, 1 - side, random_.Percent(options_.told_of_close_percent));
}

}  // namespace kamino::simulation
