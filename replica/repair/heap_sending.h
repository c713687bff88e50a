// Sends the heap, or only its changes, to a joining node, as chunks of a
// snapshot. Each pass sends the pages that have changed since the one before,
// until so little is left that it can be sent at once (the cut).
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_REPAIR_HEAP_SENDING_H_
#define KAMINO_REPLICA_REPAIR_HEAP_SENDING_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "replica/link/chain_context.h"
#include "replica/link/chain_options.h"
#include "replica/link/downstream.h"
#include "replica/link/outbox.h"
#include "replica/log/log_ring.h"
#include "replica/repair/catch_up_history.h"
#include "replica/repair/pacer.h"
#include "replica/state/state_copy.h"

namespace kamino::replica {

class HeapSending {
 public:
  // All pointers must outlive it.
  HeapSending(const ChainContext& chain, const Downstream* downstream);

  // The node `joining` begins to join; nothing is sent to it yet.
  void Reset(const std::string& joining);
  // Copies the heap, or the changes. Fills `begin` in.
  void Begin(const CatchUpHistory::Plan& plan,
             kamino::internal::v1::StateBegin* begin);
  // The transfer of the heap ends, complete or not.
  void End();

  // --- While it copies.

  // Whether the node must first say which pages it wants: nothing is sent
  // before.
  bool awaits_wanted() const { return awaits_wanted_; }
  // False: the node could not ask for that.
  bool OnWanted(const kamino::internal::v1::StateWanted& wanted);
  // Sends what the pace and the window allow; without the pace if `unpaced`.
  // True: everything is sent, and the transfer has ended.
  bool Continue(bool unpaced, absl::Time now);
  // Whether the heap changes faster than it is sent: writes must wait for the
  // joining node.
  bool lags() const;

  // --- Chunks.

  void OnChunkAck(uint64_t chunks);
  uint64_t acked() const { return chunks_acked_; }
  bool all_acked() const { return chunks_acked_ == chunks_sent_; }

 private:
  // Bytes sent and left when a pass began.
  struct Pass {
    uint64_t sent = 0;
    uint64_t left = 0;
  };

  // Counts passes.
  void CountPass();
  bool SendChunk();  // false: none is left
  void SendCut();
  // Sends a chunk that stands for so many bytes of the heap.
  void Send(std::string chunk, size_t bytes);

  const ChainOptions& options_;
  const LogRing* const ring_;
  StateCopy* const copy_;
  const Downstream* const downstream_;
  Outbox* const outbox_;
  TransferStats* const stats_;

  Pacer pacer_;
  std::string joining_;
  bool awaits_wanted_ = false;
  uint64_t chunks_sent_ = 0;
  uint64_t chunks_acked_ = 0;
  uint64_t bytes_sent_ = 0;  // of chunks; zeros take none
  Pass pass_;
  Pass braked_;  // the first pass that slows writes down
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_REPAIR_HEAP_SENDING_H_
