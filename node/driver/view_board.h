// The node's latest view, for all threads, and the subscribers to the next one.
#ifndef KAMINO_NODE_DRIVER_VIEW_BOARD_H_
#define KAMINO_NODE_DRIVER_VIEW_BOARD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/chain_id.h"
#include "kamino/v1/kamino.pb.h"
#include "membership/view.h"

namespace kamino::node {

// In the clients' format.
kamino::v1::Chain ToChain(const membership::View& view);

// Thread-safe.
class ViewBoard {
 public:
  using Snapshot = std::shared_ptr<const kamino::v1::Chain>;
  // Called on the publishing thread with a lock held: must not block and must
  // not call back.
  using Listener = std::function<void(const Snapshot&)>;

  static constexpr size_t kMaxListeners = 1024;
  static constexpr int kMaxOfOnePeer = kMaxListeners / 4;

  // The board of this chain.
  explicit ViewBoard(ChainId chain_id);

  // A view of this chain. Ignores one that is older than the current one.
  void Publish(const membership::View& view);

  // Never null, always of this chain; view_id 0 before the first view.
  Snapshot current() const;

  // Calls `listener` with the current chain, then with each later one, until
  // Unsubscribe returns. 0: there are kMaxListeners already, or kMaxOfOnePeer
  // for `peer`, the caller's connection.
  uint64_t Subscribe(absl::string_view peer, Listener listener);
  void Unsubscribe(uint64_t id);

 private:
  mutable absl::Mutex mutex_;
  Snapshot current_ ABSL_GUARDED_BY(mutex_);
  struct Subscription {
    std::string peer;
    Listener listener;
  };
  absl::flat_hash_map<uint64_t, Subscription> listeners_
      ABSL_GUARDED_BY(mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_VIEW_BOARD_H_
