// Options of a node's chain protocol core.
#ifndef KAMINO_REPLICA_LINK_CHAIN_OPTIONS_H_
#define KAMINO_REPLICA_LINK_CHAIN_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/time/time.h"
#include "base/chain_id.h"
#include "base/chain_mode.h"
#include "membership/view.h"
#include "replica/link/stage_watch.h"
#include "replica/log/log_entry.h"

namespace kamino::replica {

struct ChainOptions {
  std::string cluster_id;
  ChainId chain_id = kOnlyChain;
  ChainMode mode = ChainMode::kKamino;
  std::string node_id;
  uint64_t incarnation = 0;
  uint64_t heap_bytes = 0;
  // The versions and features that this node supports.
  membership::Agreement agreement;
  // The largest log entry that every neighbour and its link can take; larger
  // ones are not appended. 0: what the ring takes.
  uint64_t max_entry_bytes = 0;
  // Log entries that may be on their way to the successor, unacknowledged.
  uint64_t window_entries = 1024;
  // Between two acknowledgements to the predecessor, unless something runs
  // full. The next tick may be the first to send one. Completion does not wait
  // for them.
  absl::Duration ack_delay = absl::ZeroDuration();
  // Between two attempts to reach a neighbour. The first few are closer
  // together: a neighbour that is only late with a view has it in a moment.
  absl::Duration reconnect_delay = absl::Milliseconds(20);
  // A link that is not established by then is tried anew. Setting up queue
  // pairs takes a while, and the transport has a limit of its own.
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
  // Rate at which the heap is sent, so that the chain can continue meanwhile;
  // 0: no limit. The cut ignores it.
  uint64_t transfer_bytes_per_s = 0;
  // How long the tail keeps entries for a joining node that has gone silent, so
  // that it can resume.
  absl::Duration retain = absl::Seconds(5);
  // A joining node that makes no progress for so long, or has everything and
  // has not become a member by then, gives way to another that the manager
  // invites.
  absl::Duration joining_patience = absl::Seconds(3);
  // How long changes are remembered for members that left the chain, so that
  // they catch up from those; 0: not at all, and this node itself asks for the
  // whole heap.
  absl::Duration keep_changes = absl::Minutes(5);
  // How fast members compare their data while this node is head; 0: not at all.
  // The size of a range in bytes, a multiple of 64 that must be the same at all
  // members. A question without an answer is repeated after scrub_retry, and
  // not sooner after a difference. In one view a pass over the heap takes at
  // least scrub_min_pass, so that a small heap is not compared all the time. A
  // new view ends the pass and begins a whole one.
  uint64_t scrub_bytes_per_s = 0;
  uint64_t scrub_range_bytes = 256u << 10;
  absl::Duration scrub_min_pass = absl::ZeroDuration();
  absl::Duration scrub_retry = absl::Seconds(1);
  // The identity of the peer of an established link, by its certificate, as a
  // URI (security/identity.h); "": none. Null: links are without TLS, and a
  // node's claim is believed.
  std::function<std::string(uint64_t link)> identity_of;
  // Observes the stages of log entries; may be null. It outlives the core.
  StageWatch* stages = nullptr;
  // Called with each log entry once it is durable in this node's ring; for
  // tests that keep a history. May be null.
  std::function<void(const LogEntry& entry)> on_appended;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LINK_CHAIN_OPTIONS_H_
