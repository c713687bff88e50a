#include "rpc/call_guard.h"

#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "logs/about_request.h"
#include "logs/trace.h"
#include "rpc/call_counts.h"
#include "rpc/peers.h"
#include "rpc/status.h"

namespace kamino::rpc {
namespace {

using security::GrantPtr;

std::string TraceparentIn(
    const grpc::AuthMetadataProcessor::InputMetadata& metadata) {
  const auto found = metadata.find(logs::kTraceparentKey);
  if (found == metadata.end()) return "";
  const absl::string_view text(found->second.data(), found->second.size());
  return logs::IsTraceparent(text) ? std::string(text) : "";
}

class CallGuard final : public grpc::AuthMetadataProcessor {
 public:
  explicit CallGuard(std::shared_ptr<security::Access> access)
      : access_(std::move(access)) {}

  // It does not wait, so it needs no thread.
  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata,
                       grpc::AuthContext* context, OutputMetadata*,
                       OutputMetadata*) override {
    const auto path = metadata.find(":path");
    const absl::string_view method =
        path == metadata.end()
            ? absl::string_view()
            : absl::string_view(path->second.data(), path->second.size());
    const auto peer = PeerOf(*context);
    const GrantPtr grant =
        peer.ok() ? access_->GrantOf(peer->identity()) : nullptr;
    const security::AccessRule* const rule = security::RuleOfCall(method);
    const std::string trace = TraceparentIn(metadata);
    const logs::AboutRequest about("", trace);
    const absl::Status status = access_->Check(grant.get(), rule, method);
    if (status.ok()) return grpc::Status::OK;
    // Unknown methods are not counted: a peer may make up any number.
    if (rule != nullptr) {
      CallsServed()
          .Of(rule->name)
          ->Add(status.raw_code(), absl::ZeroDuration());
    }
    return ToGrpc(status);
  }

 private:
  const std::shared_ptr<security::Access> access_;
};

}  // namespace

std::shared_ptr<grpc::AuthMetadataProcessor> GuardCalls(
    std::shared_ptr<security::Access> access) {
  return std::make_shared<CallGuard>(std::move(access));
}

PrincipalPtr PrincipalOf(const grpc::ServerContextBase& context,
                         security::Access* access) {
  if (access == nullptr) return nullptr;
  const auto peer = PeerOf(context);
  if (peer.ok()) return access->GrantOf(peer->identity())->principal;
  // The guard has refused all of these.
  static const PrincipalPtr* const unknown = new PrincipalPtr(
      std::make_shared<const Principal>(Principal{"unknown", KeyScope({})}));
  return *unknown;
}

std::string PeerAddressOf(const grpc::ServerContextBase& context) {
  // gRPC escapes the brackets, as in a URI.
  return absl::StrReplaceAll(context.peer(), {{"%5B", "["}, {"%5D", "]"}});
}

std::string IdentityOf(const grpc::ServerContextBase& context) {
  const auto peer = PeerOf(context);
  return peer.ok() ? security::ToString(peer->identity()) : "";
}

}  // namespace kamino::rpc
