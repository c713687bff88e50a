#include "security/peer_watches.h"

#include <iterator>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace kamino::security {

std::unique_ptr<PeerWatches::Watch> PeerWatches::WatchPeer(
    const Certificate& peer, std::function<void(const absl::Status&)> end) {
  absl::MutexLock lock(&mutex_);
  watched_.push_back({peer, std::move(end)});
  return std::unique_ptr<Watch>(new Watch(this, std::prev(watched_.end())));
}

PeerWatches::Watch::~Watch() {
  absl::MutexLock lock(&watches_->mutex_);
  watches_->watched_.erase(at_);
}

void PeerWatches::EndWatched(
    const std::function<absl::Status(const Certificate& peer)>& why) {
  // Each certificate once, and without blocking watches that begin or end.
  absl::flat_hash_map<std::string, Certificate> peers;
  {
    absl::MutexLock lock(&mutex_);
    for (const Watched& one : watched_) {
      if (!one.ended) peers.emplace(one.peer.fingerprint(), one.peer);
    }
  }
  absl::flat_hash_map<std::string, absl::Status> gone;
  for (const auto& [fingerprint, peer] : peers) {
    absl::Status status = why(peer);
    if (!status.ok()) gone.emplace(fingerprint, std::move(status));
  }
  if (gone.empty()) return;
  absl::MutexLock lock(&mutex_);
  for (Watched& one : watched_) {
    const auto found = gone.find(one.peer.fingerprint());
    if (one.ended || found == gone.end()) continue;
    one.ended = true;
    ended_.fetch_add(1, std::memory_order_relaxed);
    one.end(found->second);
  }
}

}  // namespace kamino::security
