#include "node/driver/view_board.h"

#include <utility>

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
  for (auto& [id, listener] : listeners_) listener(current_);
}

ViewBoard::Snapshot ViewBoard::current() const {
  absl::MutexLock lock(&mutex_);
  return current_;
}

uint64_t ViewBoard::Subscribe(Listener listener) {
  absl::MutexLock lock(&mutex_);
  if (listeners_.size() >= kMaxListeners) return 0;
  listener(current_);
  const uint64_t id = next_id_++;
  listeners_.emplace(id, std::move(listener));
  return id;
}

void ViewBoard::Unsubscribe(uint64_t id) {
  absl::MutexLock lock(&mutex_);
  listeners_.erase(id);
}

}  // namespace kamino::node
