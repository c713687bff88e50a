#include "node/driver/view_board.h"

#include <utility>

namespace kamino::head {

kamino::v1::Role ToProto(membership::Role role) {
  switch (role) {
    case membership::Role::kHead:
      return kamino::v1::ROLE_HEAD;
    case membership::Role::kMiddle:
      return kamino::v1::ROLE_MIDDLE;
    case membership::Role::kTail:
      return kamino::v1::ROLE_TAIL;
    case membership::Role::kSingle:
      return kamino::v1::ROLE_SINGLE;
    case membership::Role::kOutside:
      break;
  }
  return kamino::v1::ROLE_OUTSIDE;
}

kamino::v1::Chain ToProto(const membership::View& view) {
  kamino::v1::Chain chain;
  chain.set_cluster_id(view.cluster_id);
  chain.set_view_id(view.id);
  for (size_t i = 0; i < view.members.size(); ++i) {
    kamino::v1::ChainNode* node = chain.add_nodes();
    node->set_node_id(view.members[i].node_id);
    node->set_address(view.members[i].service_address);
    node->set_role(ToProto(view.RoleAt(static_cast<int>(i))));
  }
  return chain;
}

ViewBoard::ViewBoard()
    : current_(std::make_shared<const kamino::v1::Chain>()) {}

void ViewBoard::Publish(const membership::View& view) {
  auto chain = std::make_shared<const kamino::v1::Chain>(ToProto(view));
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

}  // namespace kamino::head
