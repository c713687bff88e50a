// Handles the messages of the node that receives this one's log entries: the
// successor in the view or, at the tail, the joining node. That node says what
// it holds; this node sends what follows, completes and cleans.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_CORE_SUCCESSOR_MESSAGES_H_
#define KAMINO_REPLICA_CORE_SUCCESSOR_MESSAGES_H_

#include <cstdint>

#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "replica/core/chain_parts.h"
#include "replica/core/log_parts.h"
#include "replica/link/chain_actions.h"
#include "replica/link/chain_context.h"

namespace kamino::replica {

class SuccessorMessages {
 public:
  // `chain` and all pointers must outlive it.
  SuccessorMessages(const ChainContext& chain, LinkParts* links,
                    DataParts* data, LogParts* log)
      : chain_(chain), links_(links), data_(data), log_(log) {}

  void OnSync(LinkId link, const kamino::internal::v1::Sync& sync,
              absl::Time now);
  void OnAppendAck(LinkId link, uint64_t received);
  void OnCleanUp(LinkId link, uint64_t cleaned);
  void OnAnnounceAck(LinkId link, const kamino::internal::v1::AnnounceAck& ack);

  // --- Of a joining node.

  void OnStateWanted(LinkId link,
                     const kamino::internal::v1::StateWanted& wanted);
  void OnChunkAck(LinkId link, uint64_t chunks);

 private:
  bool Replicates(LinkId link) const {
    return links_->downstream.Has(link) && links_->downstream.replicates();
  }
  void ContinueDownstream(const kamino::internal::v1::Sync& sync);
  // The successor asks for the entry after those it has received, perhaps
  // again: this node's bytes may be damaged. False: it does not get the entry.
  bool CheckUnsent(const kamino::internal::v1::Sync& sync);

  const ChainContext& chain_;
  LinkParts* const links_;
  DataParts* const data_;
  LogParts* const log_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CORE_SUCCESSOR_MESSAGES_H_
