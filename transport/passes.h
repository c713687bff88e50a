// Passes authenticate peers on links without a handshake of their own. The
// connector asks for a pass over an authenticated call and shows it on the
// link; the link then belongs to the caller's identity. A pass is good once,
// for some seconds, at the process that issued it.
#ifndef KAMINO_TRANSPORT_PASSES_H_
#define KAMINO_TRANSPORT_PASSES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "security/certificate.h"

namespace kamino::transport {

// Bytes of each of a pass's halves, random.
inline constexpr size_t kPassBytes = 32;

// The answer to a request for a pass.
struct LinkPass {
  std::string token;  // the connector shows it
  std::string proof;  // the acceptor, which issued the token, shows it
  // The user of the process that takes the link. The connector shows nothing to
  // a process of another user: any process at that address would get the pass.
  uint32_t user = 0;
};

// Passes that were issued and not taken. Thread-safe.
class PassRegistry {
 public:
  struct Options {
    size_t max_outstanding = 1024;
    size_t max_of_holder = 16;  // of one identity
    absl::Duration valid = absl::Seconds(10);
    // Monotonic. Null: base/clock.h.
    std::function<absl::Time()> now = nullptr;
  };
  PassRegistry();
  explicit PassRegistry(Options options);

  // `holder` asked, by the certificate of its call. kResourceExhausted: too
  // many passes are outstanding.
  absl::StatusOr<LinkPass> Issue(const security::Certificate& holder);

  struct Taken {
    security::Certificate holder;
    std::string proof;
  };
  // kUnauthenticated: it was never issued, has been taken, or is too old.
  absl::StatusOr<Taken> Take(absl::string_view token);

  size_t outstanding() const;

 private:
  struct Given {
    std::string key;  // of the token
    std::string proof;
    security::Certificate holder;
    absl::Time until;
  };
  void DropOldLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropLocked(std::list<Given>::iterator given)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  mutable absl::Mutex mutex_;
  // Oldest first.
  std::list<Given> given_ ABSL_GUARDED_BY(mutex_);
  // By the token's hash: comparing hashes reveals nothing about the token.
  absl::flat_hash_map<std::string, std::list<Given>::iterator> by_key_
      ABSL_GUARDED_BY(mutex_);
  // Outstanding passes of each identity.
  absl::flat_hash_map<std::string, size_t> of_holder_ ABSL_GUARDED_BY(mutex_);
};

// Where a connector gets passes. The owner of an authenticated channel
// implements it. Thread-safe.
class PassSource {
 public:
  virtual ~PassSource() = default;

  struct Granted {
    LinkPass pass;
    security::Certificate issuer;  // of the channel's other end
  };
  // Called once, on any thread, perhaps before Ask returns; must not block.
  using Reply = std::function<void(absl::StatusOr<Granted>)>;
  // Asks the listener at `address` (as for Connect) for a pass. Replies with an
  // error if there is none within `timeout`.
  virtual void Ask(const std::string& address, absl::Duration timeout,
                   Reply reply) = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_PASSES_H_
