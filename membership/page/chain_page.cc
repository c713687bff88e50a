#include "membership/page/chain_page.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "kamino/internal/v1/page.pb.h"
#include "membership/manager/admin_service.h"
#include "membership/page/chain_html.h"
#include "rpc/redirect.h"

namespace kamino::membership {
namespace {

std::string ToJson(const kamino::internal::v1::ChainPage& page) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto printed =
      google::protobuf::util::MessageToJsonString(page, &json, options);
  return printed.ok() ? json
                      : "{\"error\": \"a node's answer is not valid UTF-8\"}";
}

std::string WhyNot(const absl::Status& status) {
  const std::string leader = rpc::LeaderIn(status).value_or("");
  if (leader.empty()) return std::string(status.message());
  return absl::StrCat("This manager is a standby; the leader is ", leader, ".");
}

}  // namespace

std::vector<web::Route> ChainPage::Routes() {
  web::Route page{"/", [] {
                    return web::Answer{200, "text/html; charset=utf-8",
                                       std::string(kChainHtml)};
                  }};
  web::Route json{"/chain.json", [this] {
                    return web::Answer{200, "application/json", Json()};
                  }};
  return {std::move(page), std::move(json)};
}

std::string ChainPage::Json() {
  kamino::internal::v1::ChainPage page;
  const absl::Status told =
      manager_->Administer([&](ManagerCore* core, absl::Time now) {
        Describe(*core, now, page.mutable_cluster());
        page.mutable_cluster()->set_leader(manager_->name());
        return absl::OkStatus();
      });
  if (!told.ok()) {
    page.Clear();
    page.set_error(WhyNot(told));
    return ToJson(page);
  }
  for (const Manager::Event& event : manager_->Events()) {
    kamino::internal::v1::ChainEvent* message = page.add_events();
    message->set_number(event.number);
    message->set_ms_ago(
        static_cast<uint64_t>(absl::ToInt64Milliseconds(event.ago)));
    message->set_text(event.text);
  }
  NodeStatuses::Addresses addresses;
  for (const kamino::v1::ClusterNode& node : page.cluster().nodes()) {
    if (!node.alive()) continue;
    addresses[node.member().node_id()] = node.member().address();
  }
  for (auto& [id, status] : statuses_.Look(addresses)) {
    (*page.mutable_nodes())[id] = std::move(status);
  }
  return ToJson(page);
}

}  // namespace kamino::membership
