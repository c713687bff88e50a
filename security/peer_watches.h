// Watches of peers whose certificates may become invalid while a connection is
// open, which TLS does not notice.
//
// Thread-safe.
#ifndef KAMINO_SECURITY_PEER_WATCHES_H_
#define KAMINO_SECURITY_PEER_WATCHES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "security/certificate.h"

namespace kamino::security {

// All watches must end before it is destroyed.
class PeerWatches {
 public:
  // Until the watch is destroyed, `end` is called, once, if the certificate is
  // no longer trusted. It must be quick, for example shut down a socket or set
  // a flag, and must not begin or end a watch. It does not run after the
  // destruction.
  class Watch;
  std::unique_ptr<Watch> WatchPeer(
      const Certificate& peer, std::function<void(const absl::Status&)> end);
  // Ends the watches for which `why` returns an error, for example after a
  // change of roles.
  void EndWatched(
      const std::function<absl::Status(const Certificate& peer)>& why);

  // Watches that EndWatched has ended.
  uint64_t ended() const { return ended_.load(std::memory_order_relaxed); }

 private:
  struct Watched {
    Certificate peer;
    std::function<void(const absl::Status&)> end;
    bool ended = false;
  };

  absl::Mutex mutex_;
  std::list<Watched> watched_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> ended_{0};
};

class PeerWatches::Watch {
 public:
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  friend class PeerWatches;
  Watch(PeerWatches* watches, std::list<Watched>::iterator at)
      : watches_(watches), at_(at) {}

  PeerWatches* const watches_;
  const std::list<Watched>::iterator at_;
};

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_PEER_WATCHES_H_
