#include "node/driver/view_board.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "membership/records.h"

namespace kamino::node {

kamino::v1::Chain ToChain(const membership::View& view) {
  kamino::v1::Chain chain;
  chain.set_cluster_id(view.cluster_id);
  chain.set_chain_id(view.chain_id);
  chain.set_view_id(view.id);
  for (size_t i = 0; i < view.members.size(); ++i) {
    *chain.add_nodes() = membership::PublicMember(view, static_cast<int>(i));
  }
  for (const auto& [node_id, away] : view.away) chain.add_away(node_id);
  chain.set_cluster_uuid(absl::BytesToHexString(view.cluster_uuid));
  return chain;
}

ViewBoard::ViewBoard(ChainId chain_id) {
  auto none = std::make_shared<kamino::v1::Chain>();
  none->set_chain_id(chain_id);
  current_ = std::move(none);
}

void ViewBoard::Publish(const membership::View& view) {
  auto chain = std::make_shared<const kamino::v1::Chain>(ToChain(view));
  absl::MutexLock lock(&mutex_);
  if (chain->view_id() < current_->view_id()) return;
  current_ = std::move(chain);
  for (auto& [id, each] : listeners_) each.listener(current_);
}

ViewBoard::Snapshot ViewBoard::current() const {
  absl::MutexLock lock(&mutex_);
  return current_;
}

uint64_t ViewBoard::Subscribe(absl::string_view peer, Listener listener) {
  absl::MutexLock lock(&mutex_);
  if (listeners_.size() >= kMaxListeners) return 0;
  const auto of_peer = std::count_if(
      listeners_.begin(), listeners_.end(),
      [peer](const auto& each) { return each.second.peer == peer; });
  if (of_peer >= kMaxOfOnePeer) return 0;
  listener(current_);
  const uint64_t id = next_id_++;
  listeners_[id] = {std::string(peer), std::move(listener)};
  return id;
}

void ViewBoard::Unsubscribe(uint64_t id) {
  absl::MutexLock lock(&mutex_);
  listeners_.erase(id);
}

}  // namespace kamino::node
