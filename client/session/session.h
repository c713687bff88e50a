// The session of a client's mutations (docs/formats/session.md): its name, its
// state, and when its lease needs a keep-alive. A client has one session at a
// time, over one or more connections; a session that ends is replaced by
// another one. Private to the library.
//
// Invariants:
//   1. The id of a session that the chain has opened is not opened again. A
//      late first hello could reopen a session that was used and closed
//      meanwhile, and its numbers would be used again.
//   2. At most one attempt at a time opens a session. An attempt to continue a
//      session never opens the one that has replaced it.
//   3. The lane pool has the slots of this session, once it is open.
#ifndef KAMINO_CLIENT_SESSION_SESSION_H_
#define KAMINO_CLIENT_SESSION_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/lane_pool.h"
#include "client/session/connection.h"
#include "kamino/v1/session.pb.h"

namespace kamino::client {

struct SessionOptions {
  uint32_t window = 1024;
  absl::Duration lease = absl::Seconds(60);
};

// Thread-safe.
class Session {
 public:
  // How long a keep-alive waits for its answer, and the pause before the next
  // one if it failed.
  static constexpr absl::Duration kKeepAliveTimeout = absl::Seconds(1);

  // `lanes` must outlive this.
  Session(const SessionOptions& options, LanePool* lanes);

  // The present session; epoch 0: it is not open yet.
  kamino::v1::SessionName name() const;
  // Whether `id` is the present session, open or not.
  bool Is(uint64_t id) const;
  // Whether the chain has opened the session `id`, and it is the present one.
  bool IsOpen(uint64_t id) const;

  // Begins an attempt to connect in this session. Returns the name for its
  // hello; epoch 0: the hello opens the session. Null: another attempt is
  // opening the session, so there must be no attempt now.
  std::optional<kamino::v1::SessionName> BeginAttempt();
  // `opens`: the epoch of the attempt's first name was 0.
  void EndAttempt(bool opens);
  // A node has welcomed a hello of the session.
  void OnWelcome(const kamino::v1::SessionName& welcomed, absl::Time now);
  // A node did not welcome the hello of an attempt. Returns the name for the
  // attempt's next hello: another session if the hello was to open this one.
  kamino::v1::SessionName OnHelloFailed(const kamino::v1::SessionName& hello);
  // The session `id` has ended, and the next hello opens another one. False: it
  // is not the present one.
  bool OnExpired(uint64_t id);

  // Whether the session needs a keep-alive now. The next one is then due a
  // quarter of the lease later.
  bool TakeKeepAlive(absl::Time now);
  // A keep-alive could not be sent, or failed: the next one is due soon.
  void KeepAliveSoon(absl::Time now);
  // Sends a keep-alive over an open connection of a session. `failed` is called
  // with the id of that session if the node answers with an error or not at
  // all, or if the connection has ended.
  void SendKeepAlive(
      Connection* connection,
      std::function<void(const absl::Status& why, uint64_t id)> failed);

  // From now on mutations use no session. Ends the session over `connection`
  // and waits briefly for the answer. Null: the lease ends it.
  void Close(Connection* connection);

 private:
  // The next hello opens another session.
  void Replace() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SessionOptions options_;
  LanePool* const lanes_;

  mutable absl::Mutex mutex_;
  // The present session; epoch 0: not open yet.
  kamino::v1::SessionName name_ ABSL_GUARDED_BY(mutex_);
  // An attempt that opens the session is under way.
  bool opening_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time keep_alive_at_ ABSL_GUARDED_BY(mutex_);
  absl::BitGen random_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_SESSION_SESSION_H_
