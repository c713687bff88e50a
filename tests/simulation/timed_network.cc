#include "tests/simulation/timed_network.h"

#include <algorithm>

#include "glog/logging.h"

namespace kamino::simulation {
namespace {

constexpr absl::Duration kLeastDelay = absl::Microseconds(20);
constexpr absl::Duration kMostDelay = absl::Microseconds(300);
constexpr absl::Duration kSpike = absl::Milliseconds(30);
constexpr absl::Duration kStallPoll = absl::Milliseconds(7);
// A link that stalls is given up after some time between these.
constexpr absl::Duration kLeastTimeout = absl::Milliseconds(100);
constexpr absl::Duration kMostTimeout = absl::Milliseconds(900);
// One of so many messages travels as bytes.
constexpr uint64_t kSerializeOneIn = 32;
constexpr uint64_t kSpikeOneIn = 400;

}  // namespace

TimedNetwork::TimedNetwork(World* world)
    : world_(world), random_(world->random().Fork()) {}

// --- What is wrong with it.

void TimedNetwork::Cut(const std::string& from, const std::string& to) {
  if (from != to) cut_.insert({from, to});
}

void TimedNetwork::Heal(const std::string& from, const std::string& to) {
  cut_.erase({from, to});
}

void TimedNetwork::HealAll() {
  cut_.clear();
  slow_ = absl::ZeroDuration();
  damage_one_in_ = 0;
}

void TimedNetwork::SetFar(const std::vector<std::string>& names,
                          absl::Duration most) {
  far_.insert(names.begin(), names.end());
  distance_ = most;
}

void TimedNetwork::BreakLinks(uint64_t percent) {
  std::vector<Ref> chosen;
  for (const auto& [number, connection] : by_number_) {
    if (random_.Percent(percent)) chosen.push_back(connection);
  }
  for (const Ref& connection : chosen) Break(connection);
}

absl::Duration TimedNetwork::Delay() {
  absl::Duration delay = random_.Between(kLeastDelay, kMostDelay);
  if (random_.OneIn(kSpikeOneIn)) {
    delay += random_.Between(absl::ZeroDuration(), kSpike);
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

// --- Calls.

void TimedNetwork::Send(Process* from, Process* to, World::Event arrival) {
  if (IsCut(from->name(), to->name())) return;
  const absl::Duration delay = CallDelay(*from, *to);
  world_->After(delay, [this, from, to, arrival = std::move(arrival)] {
    if (IsCut(from->name(), to->name())) return;
    to->Deliver(arrival);
  });
}

// --- Links.

TimedNetwork::Ref TimedNetwork::Find(LinkOwner* owner, LinkId link, int* side) {
  const auto found = links_.find({owner, link});
  if (found == links_.end()) return nullptr;
  *side = found->second.second;
  return found->second.first;
}

void TimedNetwork::Open(LinkOwner* from, LinkId link, LinkOwner* to) {
  auto connection = std::make_shared<Connection>();
  connection->number = next_number_++;
  connection->ends[0].owner = from;
  connection->ends[0].id = link;
  connection->ends[0].open = true;
  connection->ends[1].owner = to;
  links_[{from, link}] = {connection, 0};
  by_number_[connection->number] = connection;
  world_->After(Delay() + Delay(), [this, connection] { Accept(connection); });
}

void TimedNetwork::Accept(const Ref& connection) {
  End& from = connection->ends[0];
  End& to = connection->ends[1];
  if (!from.open) return;
  if (to.owner == nullptr || !to.owner->up()) {
    return Notify(connection, 0, /*soon=*/true);
  }
  if (IsCut(from.owner->name(), to.owner->name()) ||
      IsCut(to.owner->name(), from.owner->name())) {
    return Notify(connection, 0, /*soon=*/false);
  }
  // The kernel accepts for a process that is stopped.
  to.owner->Deliver([this, connection] {
    End& accepted = connection->ends[1];
    accepted.id = accepted.owner->OnAccepted();
    accepted.open = true;
    links_[{accepted.owner, accepted.id}] = {connection, 1};
    // Bytes that came before wait for it.
    ArriveSoon(connection, 1, accepted.incoming.size());
  });
  world_->After(Delay(), [connection] {
    End& opener = connection->ends[0];
    opener.owner->Deliver([connection] {
      End& end = connection->ends[0];
      if (end.open) end.owner->OnOpened(end.id);
    });
  });
}

void TimedNetwork::SendOn(LinkOwner* from, LinkId link,
                          const ChainMessage& message) {
  int side = 0;
  const Ref connection = Find(from, link, &side);
  if (connection == nullptr || !connection->ends[side].open) return;
  ++messages_;
  End& to = connection->ends[1 - side];
  if (random_.OneIn(kSerializeOneIn)) {
    to.incoming.emplace_back();
    CHECK(to.incoming.back().ParseFromString(message.SerializeAsString()));
  } else {
    to.incoming.push_back(message);
  }
  if (damage_one_in_ > 0 && message.has_state_chunk() &&
      random_.OneIn(damage_one_in_)) {
    world_->trace().Line(world_->now(), from->name(),
                         "sends a chunk that is damaged on its way");
    Damage(to.incoming.back().mutable_state_chunk());
  }
  to.last_arrival = std::max(to.last_arrival, world_->now() + Delay());
  world_->After(to.last_arrival - world_->now(),
                [this, connection, side] { Arrive(connection, 1 - side); });
}

void TimedNetwork::Damage(kamino::internal::v1::StateChunk* chunk) {
  const uint64_t bit = random_.Next();
  const uint64_t field = random_.Pick(8);
  if (field == 0) {
    chunk->set_offset(chunk->offset() ^ 1ull << bit % 20);
  } else if (field == 1) {
    chunk->set_checksum(chunk->checksum() ^ 1ull << bit % 64);
  } else if (chunk->data().empty()) {
    chunk->set_zeros(chunk->zeros() ^ 1ull << bit % 20);
  } else {
    std::string* const data = chunk->mutable_data();
    for (uint64_t bits = 1 + random_.Pick(64); bits > 0; --bits) {
      const uint64_t flipped = random_.Pick(data->size() * 8);
      (*data)[flipped / 8] ^= static_cast<char>(1 << flipped % 8);
    }
  }
}

void TimedNetwork::Arrive(const Ref& connection, int side) {
  End& end = connection->ends[side];
  const End& other = connection->ends[1 - side];
  if (connection->broken || !end.open || end.incoming.empty()) return;
  if (IsCut(other.owner->name(), end.owner->name())) {
    if (end.stalled_since == absl::InfiniteFuture()) {
      end.stalled_since = world_->now();
      Stall(connection, side);
    } else {
      ++end.parked;
    }
    return;
  }
  end.owner->Deliver([connection, side] {
    End& receiver = connection->ends[side];
    if (connection->broken || !receiver.open || receiver.incoming.empty()) {
      return;
    }
    const ChainMessage message = std::move(receiver.incoming.front());
    receiver.incoming.pop_front();
    receiver.owner->OnMessage(receiver.id, message);
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
    if (!IsCut(other.owner->name(), end.owner->name())) {
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

void TimedNetwork::Close(LinkOwner* from, LinkId link) {
  int side = 0;
  const Ref connection = Find(from, link, &side);
  if (connection == nullptr) return;
  connection->ends[side].open = false;
  links_.erase({from, link});
  // What is on its way may still arrive.
  Notify(connection, 1 - side, random_.Percent(80));
}

void TimedNetwork::Notify(const Ref& connection, int side, bool soon) {
  const End& end = connection->ends[side];
  if (end.owner == nullptr) return;
  const absl::Duration wait =
      soon ? Delay() : random_.Between(kLeastTimeout, kMostTimeout);
  world_->After(wait, [this, connection, side] {
    connection->ends[side].owner->Deliver([this, connection, side] {
      End& told = connection->ends[side];
      by_number_.erase(connection->number);
      if (!told.open) return;
      told.open = false;
      links_.erase({told.owner, told.id});
      told.owner->OnClosed(told.id);
    });
  });
}

void TimedNetwork::Break(const Ref& connection) {
  by_number_.erase(connection->number);
  connection->broken = true;
  for (int side : {0, 1}) {
    Notify(connection, side, /*soon=*/true);
  }
}

void TimedNetwork::Died(LinkOwner* owner) {
  std::vector<std::pair<Ref, int>> gone;
  auto it = links_.lower_bound({owner, 0});
  while (it != links_.end() && it->first.first == owner) {
    gone.push_back(it->second);
    it = links_.erase(it);
  }
  // The machine's kernel says so, or nobody does.
  for (const auto& [connection, side] : gone) {
    connection->ends[side].open = false;
    Notify(connection, 1 - side, random_.Percent(70));
  }
}

}  // namespace kamino::simulation
