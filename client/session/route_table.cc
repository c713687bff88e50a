#include "client/session/route_table.h"

#include <utility>

#include "rpc/backoff.h"

namespace kamino::client {
namespace {

constexpr rpc::Backoff kBackoff = {absl::Milliseconds(10), absl::Seconds(2)};

}  // namespace

std::shared_ptr<Connection> RouteTable::Find(const Key& key) {
  Route& route = routes_[key];
  if (route.connection == nullptr) return nullptr;
  const bool of_another =
      key.mutates && !session_->Is(route.connection->welcome().session().id());
  if (!of_another && !route.connection->ended()) return route.connection;
  Retire(std::exchange(route.connection, nullptr));
  return nullptr;
}

bool RouteTable::WantsDial(const Key& key, absl::Time now) {
  const Route& route = routes_[key];
  return !route.dialing && route.calls >= worth_ && now >= route.not_before;
}

void RouteTable::EndDial(const Key& key, std::shared_ptr<Connection> connection,
                         absl::Time now) {
  const bool opened = connection != nullptr;
  Route& route = routes_[key];
  route.dialing = false;
  if (!opened) {
    ++route.failures;
    route.not_before =
        now +
        kBackoff.After(route.failures, absl::Uniform<double>(random_, 0, 1));
    return;
  }
  route.failures = 0;
  route.not_before = absl::InfinitePast();
  if (key.mutates && !session_->Is(connection->welcome().session().id())) {
    return Retire(std::move(connection));  // it has expired meanwhile
  }
  route.connection = std::move(connection);
}

void RouteTable::Retire(std::shared_ptr<Connection> connection) {
  retired_.push_back(std::move(connection));
}

void RouteTable::RetireForMutations() {
  for (auto& [key, route] : routes_) {
    if (key.mutates && route.connection != nullptr) {
      Retire(std::exchange(route.connection, nullptr));
    }
  }
}

void RouteTable::Sweep() {
  for (auto it = retired_.begin(); it != retired_.end();) {
    if ((*it)->idle()) (*it)->Close();
    it = (*it)->over() ? retired_.erase(it) : it + 1;
  }
}

std::shared_ptr<Connection> RouteTable::FindForMutations(
    const std::string& head) const {
  std::shared_ptr<Connection> found;
  for (const auto& [key, route] : routes_) {
    if (!key.mutates || route.connection == nullptr ||
        route.connection->ended()) {
      continue;
    }
    found = route.connection;
    if (key.address == head) break;
  }
  return found;
}

std::vector<std::shared_ptr<Connection>> RouteTable::All() const {
  std::vector<std::shared_ptr<Connection>> all = retired_;
  for (const auto& [key, route] : routes_) {
    if (route.connection != nullptr) all.push_back(route.connection);
  }
  return all;
}

void RouteTable::Clear() {
  routes_.clear();
  retired_.clear();
}

}  // namespace kamino::client
