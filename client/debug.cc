#include "client/debug.h"

#include "base/status_macros.h"
#include "kamino/v1/debug.grpc.pb.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace kamino::client {

absl::StatusOr<kamino::v1::GetDebugResponse> GetDebug(
    const std::string& address, const rpc::ChannelOptions& channel,
    absl::Duration timeout) {
  const auto stub =
      kamino::v1::DebugService::NewStub(rpc::MakeChannel(address, channel));
  grpc::ClientContext context;
  rpc::SetTimeout(timeout, &context);
  kamino::v1::GetDebugResponse response;
  RETURN_IF_ERROR(rpc::FromGrpc(
      stub->GetDebug(&context, kamino::v1::GetDebugRequest(), &response)));
  return response;
}

absl::StatusOr<kamino::v1::GetNodeStatusResponse> GetNodeStatus(
    const std::string& address, const rpc::ChannelOptions& channel,
    absl::Duration timeout) {
  const auto stub =
      kamino::v1::KaminoService::NewStub(rpc::MakeChannel(address, channel));
  grpc::ClientContext context;
  rpc::SetTimeout(timeout, &context);
  kamino::v1::GetNodeStatusResponse response;
  RETURN_IF_ERROR(rpc::FromGrpc(stub->GetNodeStatus(
      &context, kamino::v1::GetNodeStatusRequest(), &response)));
  return response;
}

}  // namespace kamino::client
