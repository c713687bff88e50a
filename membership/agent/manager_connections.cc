#include "membership/agent/manager_connections.h"

#include <algorithm>
#include <utility>

#include "glog/logging.h"

namespace kamino::membership {

using kamino::internal::v1::MembershipService;

ManagerConnections::ManagerConnections(Connect connect, size_t most,
                                       std::function<absl::Time()> clock)
    : connect_(std::move(connect)), most_(most), clock_(std::move(clock)) {
  CHECK_GT(most, 0u);
}

ManagerConnections::Stub* ManagerConnections::To(const std::string& manager) {
  if (manager != current_) {
    Leave();
    current_ = manager;
    // A failed connection would wait for its backoff before it retries.
    const auto kept = connections_.find(manager);
    if (kept != connections_.end()) {
      const auto state = kept->second.channel->GetState(false);
      if (state != GRPC_CHANNEL_CONNECTING && state != GRPC_CHANNEL_READY) {
        connections_.erase(kept);
      }
    }
  }
  Connection& connection = connections_[manager];
  if (connection.stub == nullptr) {
    connection.channel = connect_(manager);
    connection.stub = MembershipService::NewStub(connection.channel);
    connection.made = clock_();
  }
  connection.last_use = ++uses_;
  CloseLeastRecentlyUsed();
  return connection.stub.get();
}

bool ManagerConnections::connected() const {
  const auto found = connections_.find(current_);
  return found != connections_.end() &&
         found->second.channel->GetState(false) == GRPC_CHANNEL_READY;
}

void ManagerConnections::NoteEnd(bool answered) {
  connections_[current_].answers = answered;
}

void ManagerConnections::End(const std::string& manager) {
  connections_.erase(manager);
}

void ManagerConnections::Renew(const std::string& manager) {
  const auto found = connections_.find(manager);
  if (found == connections_.end()) return;
  if (clock_() >= found->second.made + kRenewAfter) connections_.erase(found);
}

void ManagerConnections::Leave() {
  const auto left = connections_.find(current_);
  if (left == connections_.end()) return;
  const auto state = left->second.channel->GetState(false);
  const bool is_good = state == GRPC_CHANNEL_CONNECTING ||
                       (state == GRPC_CHANNEL_READY && left->second.answers);
  if (!is_good) connections_.erase(left);
}

void ManagerConnections::CloseLeastRecentlyUsed() {
  if (connections_.size() <= most_) return;
  connections_.erase(std::min_element(
      connections_.begin(), connections_.end(),
      [](auto& a, auto& b) { return a.second.last_use < b.second.last_use; }));
}

}  // namespace kamino::membership
