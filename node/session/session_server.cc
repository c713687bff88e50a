#include "node/session/session_server.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace kamino::node {
namespace {

// Time limits of connections are in seconds, and checking thousands takes as
// long as a hundred puts: with many connections, each is checked in one of so
// many ticks.
constexpr size_t kTicksForAll = 20;
constexpr size_t kLeastLooks = 64;  // in a tick

// Memory worth giving back, which stops the allocator for some milliseconds;
// and the approximate size of a connection itself.
constexpr size_t kMuch = 64 << 20;
constexpr size_t kBytesOfConnection = 16 << 10;
constexpr absl::Duration kFreeEvery = absl::Seconds(3);

}  // namespace

SessionServer::SessionServer(const Options& options, Node* node)
    : options_(options), node_(node) {
  node->Attach(this);
}

void SessionServer::Open(uint64_t id, std::unique_ptr<SessionCarrier> carrier) {
  if (connections_.size() >= options_.max_connections) {
    LOG_EVERY_N(WARNING, 1000)
        << "a client's connection is refused: " << connections_.size()
        << " are open";
    carrier->Close();
    return;
  }
  connections_[id] = std::make_unique<SessionConnection>(
      ConnectionContext{&options_.limits, node_, options_.access, &held_},
      std::move(carrier),
      /*find=*/
      [this, id] {
        touched_.push_back(id);
        return Find(id);
      },
      node_->Now());
}

SessionConnection* SessionServer::Find(uint64_t id) {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second.get();
}

void SessionServer::OnFrame(uint64_t id, absl::string_view frame) {
  SessionConnection* const connection = Find(id);
  if (connection == nullptr) return;
  connection->OnFrame(frame, node_->Now());
  touched_.push_back(id);
}

void SessionServer::Queue(uint64_t id, std::string frame) {
  waiting_bytes_ += frame.size();
  waiting_.emplace_back(id, std::move(frame));
  while (waiting_bytes_ > options_.max_waiting_bytes) ServeFirst();
  if (std::exchange(has_turn_, true)) return;
  // Also if no frames wait any more: answers still have to be flushed.
  has_turn_ = node_->Run([this](ChainNode&) { ServeTurn(); });
}

void SessionServer::ServeFirst() {
  auto [id, frame] = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_bytes_ -= frame.size();
  OnFrame(id, frame);
}

void SessionServer::ServeTurn() {
  has_turn_ = false;
  const absl::Time end = node_->Now() + options_.max_turn;
  while (!waiting_.empty()) {
    ServeFirst();
    if (node_->Now() < end || waiting_.empty()) continue;
    has_turn_ = node_->Run([this](ChainNode&) { ServeTurn(); });
    return;
  }
}

void SessionServer::OnWritable(uint64_t id) {
  SessionConnection* const connection = Find(id);
  if (connection != nullptr) connection->OnWritable();
}

void SessionServer::OnClosed(uint64_t id) { connections_.erase(id); }

void SessionServer::OnTick(absl::Time now) {
  const size_t looks =
      std::min(connections_.size(),
               std::max(kLeastLooks, connections_.size() / kTicksForAll + 1));
  auto next = connections_.lower_bound(next_look_);
  for (size_t i = 0; i < looks; ++i) {
    if (next == connections_.end()) next = connections_.begin();
    next_look_ = next->first + 1;
    (next++)->second->OnTick(now);
  }
  if (held_ > options_.limits.max_all_held_bytes) Shed();
  if (options_.on_much_freed) LookForMuchFreed(now);
}

void SessionServer::Shed() {
  size_t held = 0;
  std::vector<std::pair<double, SessionConnection*>> by_time;
  for (const auto& [id, connection] : connections_) {
    // Memory of ended connections is freed soon.
    if (connection->ended() || connection->held().bytes() == 0) continue;
    held += connection->held().bytes();
    by_time.emplace_back(connection->held().seconds(), connection.get());
  }
  std::sort(by_time.begin(), by_time.end());
  while (held > options_.limits.max_all_held_bytes) {
    SessionConnection* const slowest = by_time.back().second;
    by_time.pop_back();
    held -= slowest->held().bytes();
    slowest->Abort(
        "the connections hold too much memory, and this one is the slowest");
  }
}

void SessionServer::LookForMuchFreed(absl::Time now) {
  const size_t taken = held_ + connections_.size() * kBytesOfConnection;
  most_taken_ = std::max(most_taken_, taken);
  if (most_taken_ - taken < kMuch || now - freed_at_ < kFreeEvery) return;
  most_taken_ = taken;
  freed_at_ = now;
  options_.on_much_freed();
}

void SessionServer::EndOfBatch() {
  // A flush makes no callbacks.
  for (uint64_t id : touched_) {
    SessionConnection* const connection = Find(id);
    if (connection != nullptr) connection->Flush();
  }
  touched_.clear();
}

}  // namespace kamino::node
