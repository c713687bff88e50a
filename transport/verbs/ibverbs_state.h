// State changes of queue pairs of libibverbs, and owners of its objects;
// private to ibverbs_device.
#ifndef KAMINO_TRANSPORT_VERBS_IBVERBS_STATE_H_
#define KAMINO_TRANSPORT_VERBS_IBVERBS_STATE_H_

#include <infiniband/verbs.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "transport/verbs/device.h"

namespace kamino::transport {

// Destroys an object that a verbs call has made.
template <typename T, int (*End)(T*)>
struct IbvEnd {
  void operator()(T* made) const { End(made); }
};
using IbvDomain = std::unique_ptr<ibv_pd, IbvEnd<ibv_pd, ibv_dealloc_pd>>;
using IbvMemory = std::unique_ptr<ibv_mr, IbvEnd<ibv_mr, ibv_dereg_mr>>;
using IbvChannel =
    std::unique_ptr<ibv_comp_channel,
                    IbvEnd<ibv_comp_channel, ibv_destroy_comp_channel>>;
using IbvQueue = std::unique_ptr<ibv_cq, IbvEnd<ibv_cq, ibv_destroy_cq>>;
using IbvShared = std::unique_ptr<ibv_srq, IbvEnd<ibv_srq, ibv_destroy_srq>>;
using IbvPair = std::unique_ptr<ibv_qp, IbvEnd<ibv_qp, ibv_destroy_qp>>;

// "what: why", for a call that has set errno.
absl::Status IbvError(absl::StatusCode code, absl::string_view what, int error);

// How one pair reaches another.
struct QueuePairPath {
  int port;
  const GidEntry& own_gid;
  const PairAddress& own;
  const PairAddress& peer;
  const PairPatience& patience;
  // How long a peer waits when there is no receive for it, as the verbs' code
  // of a time.
  uint8_t receiver_not_ready_timer;
};

// RESET to INIT. `peers_access`: IBV_ACCESS_REMOTE_*, or 0.
absl::Status InitializeQueuePair(ibv_qp* pair, int port, int peers_access);
// INIT to RTS.
absl::Status ConnectQueuePair(ibv_qp* pair, const QueuePairPath& path);
// To ERR.
void StopQueuePair(ibv_qp* pair);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_IBVERBS_STATE_H_
