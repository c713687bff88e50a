#include "node/rpc/call_words.h"

#include "absl/strings/str_cat.h"
#include "logs/trace.h"
#include "rpc/call_guard.h"

namespace kamino::node {
namespace {

std::string MetadataOf(const grpc::ServerContextBase& context, const char* key,
                       bool (*is_one)(absl::string_view)) {
  const auto found = context.client_metadata().find(key);
  if (found == context.client_metadata().end()) return "";
  const absl::string_view value(found->second.data(), found->second.size());
  return is_one(value) ? std::string(value) : "";
}

}  // namespace

std::string TraceparentOf(const grpc::ServerContextBase& context) {
  return MetadataOf(context, logs::kTraceparentKey, logs::IsTraceparent);
}

std::string ToString(const kamino::v1::RequestId& id) {
  return id.number() == 0 ? "" : absl::StrCat(id.client_id(), "/", id.number());
}

std::string RequestNameOf(const grpc::ServerContextBase& context,
                          const kamino::v1::RequestId& id) {
  std::string given =
      MetadataOf(context, logs::kRequestIdKey, logs::IsRequestId);
  return given.empty() ? ToString(id) : given;
}

void DescribeCaller(const grpc::ServerContextBase& context,
                    SlowOperation* slow) {
  slow->traceparent = TraceparentOf(context);
  slow->by = rpc::IdentityOf(context);
  slow->from = rpc::PeerAddressOf(context);
}

}  // namespace kamino::node
