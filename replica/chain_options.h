// What a node's chain protocol core is set up with.
#ifndef KAMINO_REPLICA_CHAIN_OPTIONS_H_
#define KAMINO_REPLICA_CHAIN_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/time/time.h"
#include "base/chain_id.h"
#include "base/chain_mode.h"
#include "membership/view.h"
#include "replica/log_entry.h"
#include "replica/stage_watch.h"

namespace kamino::replica {

struct ChainOptions {
  std::string cluster_id;
  ChainId chain_id = kOnlyChain;
  ChainMode mode = ChainMode::kKamino;
  std::string node_id;
  uint64_t incarnation = 0;
  uint64_t heap_bytes = 0;
  // What this node can work with.
  membership::Agreement agreement;
  // The largest log entry that every neighbour and its link can take; larger
  // ones are not appended. 0: what the ring takes.
  uint64_t max_entry_bytes = 0;
  // Log entries that may be on their way to the successor, unacknowledged.
  uint64_t window_entries = 1024;
  // Between two acknowledgements to the predecessor, while nothing runs full;
  // the next tick may be what sends one. What the chain completes does not
  // wait for them.
  absl::Duration ack_delay = absl::ZeroDuration();
  // Between two attempts to reach a neighbour, of which the first few are
  // closer: one that is only late with a view has it in a moment.
  absl::Duration reconnect_delay = absl::Milliseconds(20);
  // A link that is not established by then is tried anew; that takes a while
  // where queue pairs are set up, and the transport has a limit of its own.
  absl::Duration connect_timeout = absl::Seconds(5);
  // A neighbour that does not answer Hello by then is tried anew.
  absl::Duration hello_timeout = absl::Seconds(1);
  // A neighbour that does not answer a Fetch by then is asked again.
  absl::Duration fetch_timeout = absl::Milliseconds(200);
  // Chunks of a state transfer that may be on their way, unacknowledged; how
  // many are sent at a time; and how much may be left for the cut, which is
  // sent at once.
  uint64_t window_chunks = 64;
  int chunks_at_once = 8;
  size_t cut_bytes = 1u << 20;
  // How fast the heap is sent, so that the chain can go on beside; 0: as fast
  // as can be. The cut does not wait.
  uint64_t transfer_bytes_per_s = 0;
  // How long the tail keeps entries for a node that was joining and is not
  // heard of: if it comes back by then, it goes on.
  absl::Duration retain = absl::Seconds(5);
  // A node that joins and has got no further for so long, or has all and has
  // not become a member by then, gives way to another that the manager invites.
  absl::Duration joining_patience = absl::Seconds(3);
  // How long it is remembered what changed since members left the chain, so
  // that they catch up by that alone when they come back; 0: it is not, and
  // this node asks for the whole heap itself.
  absl::Duration keep_changes = absl::Minutes(5);
  // How fast members compare what they hold, while this node is head; 0: not at
  // all. In ranges of so many bytes, a multiple of 64 that all must have alike.
  // A question that is not answered by scrub_retry is asked again; where
  // members differed, not sooner. From one pass over the heap to the next, in
  // one view, it takes scrub_min_pass at least: a small heap is not compared
  // for ever. A view that begins within a pass ends it, and makes a whole one.
  uint64_t scrub_bytes_per_s = 0;
  uint64_t scrub_range_bytes = 256u << 10;
  absl::Duration scrub_min_pass = absl::ZeroDuration();
  absl::Duration scrub_retry = absl::Seconds(1);
  // Who is at the other end of a link that is established, by its certificate,
  // as a URI (security/identity.h); "": nobody. Null: links are in the clear,
  // and a node is who it says it is.
  std::function<std::string(uint64_t link)> identity_of;
  // Told of the stages of log entries; may be null. It outlives the core.
  StageWatch* stages = nullptr;
  // Told of each log entry once it is durable in this node's ring; for tests
  // that keep a history. May be null.
  std::function<void(const LogEntry& entry)> on_appended;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CHAIN_OPTIONS_H_
