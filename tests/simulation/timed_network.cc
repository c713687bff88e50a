#include "tests/simulation/timed_network.h"

#include <algorithm>

namespace kamino::simulation {
namespace {

constexpr size_t kMostHeld = 256;

constexpr absl::Duration kStallPoll = absl::Milliseconds(7);
// A link that stalls is given up after some time between these.
constexpr absl::Duration kLeastTimeout = absl::Milliseconds(100);
constexpr absl::Duration kMostTimeout = absl::Milliseconds(900);

}  // namespace

TimedNetwork::Options TimedNetwork::Instant() {
  Options options;
  options.least_delay = options.most_delay = absl::ZeroDuration();
  options.spike_one_in = 0;
  options.told_of_close_percent = options.told_of_death_percent = 100;
  options.lost_at_death_percent = 100;
  return options;
}

TimedNetwork::TimedNetwork(World* world, const Options& options)
    : world_(world), options_(options), random_(world->random().Fork()) {}

// --- Faults.

void TimedNetwork::Cut(const std::string& from, const std::string& to) {
  if (from != to) cut_.insert({from, to});
}

void TimedNetwork::Heal(const std::string& from, const std::string& to) {
  cut_.erase({from, to});
  SendHeld();
}

void TimedNetwork::HealAll() {
  cut_.clear();
  slow_ = absl::ZeroDuration();
  SendHeld();
}

void TimedNetwork::SetFar(const std::vector<std::string>& names,
                          absl::Duration most) {
  far_.insert(names.begin(), names.end());
  distance_ = most;
}

void TimedNetwork::BreakLinks(uint64_t percent) {
  std::vector<Ref> chosen;
  for (const auto& [number, connection] : connections_) {
    if (random_.Percent(percent)) chosen.push_back(connection);
  }
  for (const Ref& connection : chosen) Break(connection);
}

void TimedNetwork::BreakBetween(const std::string& a, const std::string& b) {
  std::vector<Ref> chosen;
  for (const auto& [number, connection] : connections_) {
    const End* const ends = connection->ends;
    if (ends[1].station == nullptr) continue;
    const std::string& from = ends[0].station->owner->name();
    const std::string& to = ends[1].station->owner->name();
    if ((from == a && to == b) || (from == b && to == a)) {
      chosen.push_back(connection);
    }
  }
  for (const Ref& connection : chosen) Break(connection);
}

absl::Duration TimedNetwork::Delay() {
  absl::Duration delay =
      random_.Between(options_.least_delay, options_.most_delay);
  if (options_.spike_one_in > 0 && random_.OneIn(options_.spike_one_in)) {
    delay += random_.Between(absl::ZeroDuration(), options_.most_spike);
  }
  if (slow_ > absl::ZeroDuration()) {
    delay += random_.Between(absl::ZeroDuration(), slow_);
  }
  return delay;
}

absl::Duration TimedNetwork::CallDelay(const Process& from, const Process& to) {
  absl::Duration delay = Delay();
  if (far_.count(from.name()) + far_.count(to.name()) > 0) {
    delay += random_.Between(distance_ / 2, distance_);
  }
  return delay;
}

bool TimedNetwork::IsCutBetween(const Process& a, const Process& b) const {
  return IsCut(a.name(), b.name()) || IsCut(b.name(), a.name());
}

// --- Calls.

void TimedNetwork::Send(Process* from, Process* to, World::Event arrival) {
  if (!from->up()) return;
  if (IsCut(from->name(), to->name())) {
    return Hold(from, to, std::move(arrival));
  }
  const absl::Duration delay = CallDelay(*from, *to);
  world_->After(delay,
                [this, from, to, arrival = std::move(arrival)]() mutable {
                  if (IsCut(from->name(), to->name())) {
                    return Hold(from, to, std::move(arrival));
                  }
                  to->Deliver(std::move(arrival));
                });
}

void TimedNetwork::Hold(Process* from, Process* to, World::Event arrival) {
  if (options_.most_held <= absl::ZeroDuration()) return;
  held_.push_back({from, to, from->life(), to->life(), std::move(arrival)});
  if (held_.size() > kMostHeld) held_.pop_front();
}

void TimedNetwork::SendHeld() {
  std::deque<Held> held;
  held.swap(held_);
  for (Held& each : held) {
    if (IsCut(each.from->name(), each.to->name())) {
      held_.push_back(std::move(each));
      continue;
    }
    // A connection does not outlive its ends.
    world_->After(random_.Between(absl::ZeroDuration(), options_.most_held),
                  [each = std::move(each)]() mutable {
                    if (each.from->life() == each.from_life &&
                        each.to->life() == each.to_life) {
                      each.to->Deliver(std::move(each.arrival));
                    }
                  });
  }
}

// --- Making links.

uint64_t TimedNetwork::Listen(const std::shared_ptr<Station>& station,
                              const std::string& address,
                              transport::AcceptCallback acceptor) {
  Port& port = ports_[{std::string(station->kind.name), address}];
  if (port.id != 0) return 0;
  port.id = next_number_++;
  port.station = station;
  port.acceptor = std::move(acceptor);
  return port.id;
}

void TimedNetwork::StopListening(const std::string& kind,
                                 const std::string& address, uint64_t id) {
  const auto found = ports_.find({kind, address});
  if (found != ports_.end() && found->second.id == id) ports_.erase(found);
}

void TimedNetwork::Knock(const Ref& connection) {
  const End& from = connection->ends[0];
  if (from.handler == nullptr || from.cancelled) return;
  const Process& opener = *from.station->owner;
  const std::string kind(from.station->kind.name);
  const auto found = ports_.find({kind, connection->address});
  if (found == ports_.end() || !found->second.station->owner->up()) {
    return Refuse(connection, /*soon=*/true);
  }
  const Port& port = found->second;
  Process* const acceptor = port.station->owner;
  if (IsCutBetween(opener, *acceptor)) {
    return Refuse(connection, /*soon=*/false);
  }
  const bool stale = port.station->era && connection->era < port.station->era();
  if (stale || forbidden_.count({kind, opener.name()}) != 0 ||
      forbidden_.count({kind, acceptor->name()}) != 0) {
    return Refuse(connection, /*soon=*/true);
  }
  connection->ends[1].station = port.station;
  const absl::Duration answer = Delay();
  connection->ends[0].last_arrival = world_->now() + answer;
  // The kernel accepts for a process that is stopped.
  world_->After(answer, [this, connection] {
    connection->ends[0].station->owner->Deliver([this, connection] {
      End& end = connection->ends[0];
      if (end.handler == nullptr || end.cancelled || connection->refused) {
        return;
      }
      const auto handler = end.handler;
      const std::string identity = IdentityOf(*connection->ends[1].station);
      if (!identity.empty() && !handler->OnPeerKnown(identity).ok()) {
        return Close(connection, 0);
      }
      end.open = true;
      handler->OnConnected(end.link);
    });
  });
  acceptor->Deliver(
      [this, connection, id = port.id] { Accept(connection, id); });
}

std::string TimedNetwork::IdentityOf(const Station& station) const {
  return options_.identity_of == nullptr
             ? ""
             : options_.identity_of(station.owner->name());
}

void TimedNetwork::Refuse(const Ref& connection, bool soon) {
  connection->refused = true;
  Notify(connection, 0, soon);
}

void TimedNetwork::Arrive(const Ref& connection, int side) {
  End& end = connection->ends[side];
  const End& other = connection->ends[1 - side];
  if (connection->broken || !end.open || end.incoming.empty()) return;
  if (IsCut(other.station->owner->name(), end.station->owner->name())) {
    if (end.stalled_since == absl::InfiniteFuture()) {
      end.stalled_since = world_->now();
      Stall(connection, side);
    } else {
      ++end.parked;
    }
    return;
  }
  end.station->owner->Deliver(
      [this, connection, side] { Take(connection, side); });
}

void TimedNetwork::Take(const Ref& connection, int side) {
  End& end = connection->ends[side];
  if (connection->broken || !end.open || end.incoming.empty()) return;
  const std::string message = std::move(end.incoming.front());
  end.incoming.pop_front();
  end.incoming_bytes -= message.size();
  Credit(connection, 1 - side);
  const auto handler = end.handler;
  handler->OnMessage(
      {reinterpret_cast<const std::byte*>(message.data()), message.size()});
}

// The receiver has taken part of what `side` has sent.
void TimedNetwork::Credit(const Ref& connection, int side) {
  End& sender = connection->ends[side];
  if (!sender.blocked ||
      connection->ends[1 - side].incoming_bytes > options_.credits / 2) {
    return;
  }
  sender.blocked = false;
  world_->After(Delay(), [connection, side] {
    if (connection->ends[side].handler == nullptr) return;
    connection->ends[side].station->owner->Deliver([connection, side] {
      const End& end = connection->ends[side];
      if (!end.open) return;
      const auto handler = end.handler;
      handler->OnWritable();
    });
  });
}

void TimedNetwork::ArriveSoon(const Ref& connection, int side, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    world_->After(absl::ZeroDuration(),
                  [this, connection, side] { Arrive(connection, side); });
  }
}

void TimedNetwork::Stall(const Ref& connection, int side) {
  world_->After(kStallPoll, [this, connection, side] {
    End& end = connection->ends[side];
    const End& other = connection->ends[1 - side];
    if (connection->broken || !end.open) return;
    if (!IsCut(other.station->owner->name(), end.station->owner->name())) {
      end.stalled_since = absl::InfiniteFuture();
      return ArriveSoon(connection, side, 1 + std::exchange(end.parked, 0));
    }
    if (world_->now() - end.stalled_since >
        random_.Between(kLeastTimeout, kMostTimeout)) {
      return Break(connection);
    }
    Stall(connection, side);
  });
}

// --- Ends of links.

void TimedNetwork::Notify(const Ref& connection, int side, bool soon) {
  if (connection->ends[side].handler == nullptr) return;
  const absl::Duration wait =
      soon ? Delay() : random_.Between(kLeastTimeout, kMostTimeout);
  world_->After(wait, [this, connection, side] {
    if (connection->ends[side].handler == nullptr) return;
    connection->ends[side].station->owner->Deliver(
        [this, connection, side] { Finish(connection, side); });
  });
}

void TimedNetwork::Finish(const Ref& connection, int side) {
  End& end = connection->ends[side];
  if (end.handler == nullptr) return;
  end.open = false;
  end.incoming.clear();
  end.incoming_bytes = 0;
  end.link.reset();
  const auto handler = std::move(end.handler);
  end.handler = nullptr;
  if (connection->ends[1 - side].handler == nullptr) {
    connections_.erase(connection->number);
  }
  handler->OnClosed(end.cancelled ? absl::CancelledError("closed by this side")
                                  : absl::UnavailableError("the link ended"));
}

void TimedNetwork::Break(const Ref& connection) {
  connection->broken = true;
  for (int side : {0, 1}) {
    Notify(connection, side, /*soon=*/true);
  }
}

void TimedNetwork::Died(Process* owner) {
  for (const auto& station : stations_) {
    if (station->owner == owner) Leave(station, /*told=*/false);
  }
  stations_.erase(std::remove_if(stations_.begin(), stations_.end(),
                                 [](const auto& s) { return s->gone; }),
                  stations_.end());
}

void TimedNetwork::Leave(const std::shared_ptr<Station>& station, bool told) {
  if (std::exchange(station->gone, true)) return;
  for (auto it = ports_.begin(); it != ports_.end();) {
    it = it->second.station == station ? ports_.erase(it) : std::next(it);
  }
  std::vector<std::pair<Ref, int>> left;
  for (const auto& [number, connection] : connections_) {
    for (int side : {0, 1}) {
      if (connection->ends[side].station == station &&
          connection->ends[side].handler != nullptr) {
        left.emplace_back(connection, side);
      }
    }
  }
  for (const auto& [connection, side] : left) {
    End& end = connection->ends[side];
    end.cancelled = true;
    // The machine's kernel tells the other end, or no process does.
    Notify(connection, 1 - side,
           random_.Percent(options_.told_of_death_percent));
    if (told) {
      Finish(connection, side);
      continue;
    }
    if (random_.Percent(options_.lost_at_death_percent)) {
      connection->broken = true;
    }
    end.open = false;
    end.handler = nullptr;
    end.link.reset();
    if (connection->ends[1 - side].handler == nullptr) {
      connections_.erase(connection->number);
    }
  }
}

}  // namespace kamino::simulation
