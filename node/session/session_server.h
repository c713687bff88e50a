// The connections of clients' sessions, of all carriers.
#ifndef KAMINO_NODE_SESSION_SESSION_SERVER_H_
#define KAMINO_NODE_SESSION_SESSION_SERVER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "node/driver/node.h"
#include "node/session/session_connection.h"

namespace kamino::node {

struct SessionServerOptions {
  SessionLimits limits;
  // Frames of links that wait for their turn. Above it they are served as they
  // are read, so that no more are read meanwhile.
  size_t max_waiting_bytes = 1 << 20;
  // How long one turn takes, except for the last frame; then neighbours and
  // ticks have theirs.
  absl::Duration max_turn = absl::Milliseconds(1);
  size_t max_connections = 16384;
  // Called, on the core thread, when connections have freed much memory, which
  // the allocator keeps until it is told to give it back. Null: it keeps it.
  std::function<void()> on_much_freed;
  // The peers' rights; outlives the server. Null: everything.
  security::Access* access = nullptr;
};

// Core thread only unless said otherwise.
class SessionServer final : public CoreUser {
 public:
  using Options = SessionServerOptions;

  // `node` outlives this, and has stopped before this ends. Any thread.
  SessionServer(const Options& options, Node* node);

  // Names a connection to come. Any thread.
  uint64_t NewId() { return next_id_.fetch_add(1); }

  // Ends it at once if there are too many.
  void Open(uint64_t id, std::unique_ptr<SessionCarrier> carrier);
  // No effect if the connection is gone.
  void OnFrame(uint64_t id, absl::string_view frame);
  // A frame from a link, on the core thread's loop, not within a task: it is
  // served in its turn.
  void Queue(uint64_t id, std::string frame);
  void OnWritable(uint64_t id);
  // The carrier is gone.
  void OnClosed(uint64_t id);

  Node* node() const { return node_; }
  // Whether peers' rights are checked.
  bool checks_access() const { return options_.access != nullptr; }

  // CoreUser:
  void OnTick(absl::Time now) override;
  void EndOfBatch() override;

 private:
  SessionConnection* Find(uint64_t id);
  void ServeFirst();
  void ServeTurn();
  // Ends connections until they hold no more than allowed.
  void Shed();
  void LookForMuchFreed(absl::Time now);

  const Options options_;
  Node* const node_;
  std::atomic<uint64_t> next_id_{1};

  size_t held_ = 0;  // of all; outlives them
  absl::btree_map<uint64_t, std::unique_ptr<SessionConnection>> connections_;
  uint64_t next_look_ = 0;  // for a tick: that connection or a later one
  size_t most_taken_ = 0;   // since the last on_much_freed
  absl::Time freed_at_;     // time of the last on_much_freed
  std::deque<std::pair<uint64_t, std::string>> waiting_;  // frames
  size_t waiting_bytes_ = 0;
  bool has_turn_ = false;          // a task that serves is queued
  std::vector<uint64_t> touched_;  // since the last EndOfBatch; may repeat
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_SESSION_SERVER_H_
