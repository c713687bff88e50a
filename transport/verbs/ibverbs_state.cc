#include "transport/verbs/ibverbs_state.h"

#include <errno.h>
#include <string.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::transport {
namespace {

constexpr uint8_t kHopLimit = 64;

ibv_mtu MtuOf(size_t bytes) {
  ibv_mtu mtu = IBV_MTU_256;
  while (mtu < IBV_MTU_4096 && (size_t{256} << (mtu - IBV_MTU_256)) < bytes) {
    mtu = static_cast<ibv_mtu>(mtu + 1);
  }
  return mtu;
}

bool SameSubnet(const Gid& a, const Gid& b) {
  return std::equal(a.begin(), a.begin() + 8, b.begin());
}

ibv_ah_attr RouteTo(const PairAddress& peer, const GidEntry& own_gid,
                    int port) {
  ibv_ah_attr route = {};
  route.port_num = static_cast<uint8_t>(port);
  route.dlid = peer.lid;
  if (peer.kind == GidKind::kInfiniBand && SameSubnet(own_gid.gid, peer.gid)) {
    return route;
  }
  route.is_global = 1;
  std::memcpy(route.grh.dgid.raw, peer.gid.data(), peer.gid.size());
  route.grh.sgid_index = static_cast<uint8_t>(own_gid.index);
  route.grh.hop_limit = kHopLimit;
  return route;
}

absl::Status Modify(ibv_qp* pair, ibv_qp_attr* attributes, int mask,
                    const char* state) {
  const int error = ::ibv_modify_qp(pair, attributes, mask);
  if (error == 0) return absl::OkStatus();
  return IbvError(absl::StatusCode::kUnavailable,
                  absl::StrCat("queue pair to ", state), error);
}

}  // namespace

absl::Status IbvError(absl::StatusCode code, absl::string_view what,
                      int error) {
  std::string text = absl::StrCat(what, ": ", ::strerror(error));
  if (error == ENOMEM) {
    absl::StrAppend(&text, " (is the limit of locked memory high enough?)");
  }
  return absl::Status(code, text);
}

absl::Status InitializeQueuePair(ibv_qp* pair, int port, int peers_access) {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = 0;
  attributes.port_num = static_cast<uint8_t>(port);
  attributes.qp_access_flags = static_cast<unsigned int>(peers_access);
  return Modify(
      pair, &attributes,
      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
      "INIT");
}

absl::Status ConnectQueuePair(ibv_qp* pair, const QueuePairPath& path) {
  ibv_qp_attr receive = {};
  receive.qp_state = IBV_QPS_RTR;
  receive.path_mtu = MtuOf(std::min(path.own.mtu, path.peer.mtu));
  receive.dest_qp_num = path.peer.number;
  receive.rq_psn = path.peer.psn;
  receive.max_dest_rd_atomic = 1;
  receive.min_rnr_timer = path.receiver_not_ready_timer;
  receive.ah_attr = RouteTo(path.peer, path.own_gid, path.port);
  RETURN_IF_ERROR(Modify(pair, &receive,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                             IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                         "RTR"));
  ibv_qp_attr send = {};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = path.own.psn;
  send.timeout = path.patience.ack_timeout;
  send.retry_cnt = path.patience.retries;
  send.rnr_retry = path.patience.receiver_not_ready_retries;
  send.max_rd_atomic = 1;
  return Modify(pair, &send,
                IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
                    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                    IBV_QP_MAX_QP_RD_ATOMIC,
                "RTS");
}

void StopQueuePair(ibv_qp* pair) {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_ERR;
  // A pair that is in error already is fine.
  (void)::ibv_modify_qp(pair, &attributes, IBV_QP_STATE);
}

}  // namespace kamino::transport
