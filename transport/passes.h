// Passes: how links that have no handshake of their own know their peers. Who
// wants one asks for a pass over an authenticated call; the link shows it, and
// is then of who has asked. A pass is good once, for some seconds, at the
// process that gave it out.
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

// What the answer to who asks for a pass has to carry.
struct LinkPass {
  std::string token;  // who connects shows it
  std::string proof;  // and is shown this, by who has given the token out
  // The user of the process that takes the link. Who connects shows nothing to
  // a process of another one: whoever sits at the address would have the pass.
  uint32_t user = 0;
};

// Passes given out and not taken. Thread-safe.
class PassBook {
 public:
  struct Options {
    size_t max_outstanding = 1024;
    size_t max_of_holder = 16;  // of one identity
    absl::Duration valid = absl::Seconds(10);
    // Monotonic. Null: base/clock.h.
    std::function<absl::Time()> now = nullptr;
  };
  PassBook();
  explicit PassBook(Options options);

  // `holder` has asked, with the certificate of its call. kResourceExhausted:
  // too many are outstanding.
  absl::StatusOr<LinkPass> Issue(const security::Certificate& holder);

  struct Taken {
    security::Certificate holder;
    std::string proof;
  };
  // kUnauthenticated: it never was one, has been taken, or is too old.
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
  // By the token's hash, whose comparison tells nothing of the token.
  absl::flat_hash_map<std::string, std::list<Given>::iterator> by_key_
      ABSL_GUARDED_BY(mutex_);
  // How many of an identity.
  absl::flat_hash_map<std::string, size_t> of_holder_ ABSL_GUARDED_BY(mutex_);
};

// Where who connects comes by passes: who owns an authenticated channel
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
  // Asks who listens at `address`, as Connect has it, for a pass; or says why
  // there is none within `timeout`.
  virtual void Ask(const std::string& address, absl::Duration timeout,
                   Reply reply) = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_PASSES_H_
