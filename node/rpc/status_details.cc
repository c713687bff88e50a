#include "node/rpc/status_details.h"

#include <chrono>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "google/rpc/error_details.pb.h"
#include "metrics/counters.h"
#include "replica/errors.h"
#include "rpc/detail.h"
#include "rpc/status.h"

namespace kamino::node {
namespace {

using kamino::v1::Reason;

// How long to wait before a retry can succeed; zero: waiting does not help.
std::chrono::milliseconds RetryDelay(Reason reason) {
  switch (reason) {
    case kamino::v1::REASON_RECONFIGURING:
    case kamino::v1::REASON_OUTCOME_UNKNOWN:
      return std::chrono::milliseconds(50);  // a repair takes a second or so
    case kamino::v1::REASON_OVERLOADED:
      return std::chrono::milliseconds(20);  // some chain round trips
    default:
      return std::chrono::milliseconds(0);
  }
}

metrics::Counters refusals(
    "kamino_refusals_total",
    "Errors in answers, by the reason that clients get; \"unspecified\": none "
    "of the protocol's reasons, for example a passed deadline.",
    {"reason"});

void CountRefusal(Reason reason) {
  constexpr absl::string_view kPrefix = "REASON_";
  refusals
      .Of({absl::AsciiStrToLower(
          absl::StripPrefix(kamino::v1::Reason_Name(reason), kPrefix))})
      ->Add();
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status,
                          const kamino::v1::Chain& chain,
                          const std::string& node_id,
                          const std::string& request) {
  if (status.ok()) return grpc::Status::OK;
  kamino::v1::ErrorDetail detail = replica::DetailOf(status);
  detail.set_served_by(node_id);
  // The chain of another cluster has no addresses for the caller.
  if (detail.reason() != kamino::v1::REASON_OTHER_CLUSTER) {
    *detail.mutable_chain() = chain;
    detail.set_chain_id(chain.chain_id());
    detail.set_view_id(chain.view_id());
  }
  detail.set_request(request);
  // Cancelled calls and closed streams do not count as refused.
  if (!absl::IsCancelled(status)) CountRefusal(detail.reason());

  absl::Status answer(status.code(), status.message());
  rpc::SetDetail(detail, &answer);
  const auto delay = RetryDelay(detail.reason());
  if (delay.count() > 0) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_nanos(
        static_cast<int32_t>(std::chrono::nanoseconds(delay).count()));
    rpc::SetDetail(retry, &answer);
  }
  return rpc::ToGrpc(answer);
}

absl::Status CheckAsked(ChainId asked, ChainId served) {
  const absl::Status status = CheckChain(asked, served);
  if (status.ok()) return status;
  return replica::WithReason(status, kamino::v1::REASON_UNKNOWN_CHAIN);
}

absl::Status NodeStopping() {
  return replica::MakeError(kamino::v1::REASON_RECONFIGURING,
                            "this node is stopping");
}

}  // namespace kamino::node
