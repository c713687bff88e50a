#include "rpc/redirect.h"

#include "absl/strings/str_cat.h"
#include "kamino/internal/v1/redirect.pb.h"
#include "rpc/detail.h"

namespace kamino::rpc {

using kamino::internal::v1::NotLeaderDetail;

absl::Status NotLeader(const std::string& leader, ChainId chain_id) {
  absl::Status status = absl::UnavailableError(
      leader.empty()
          ? "this manager does not lead, and knows no leader"
          : absl::StrCat("this manager does not lead, ", leader, " does"));
  NotLeaderDetail detail;
  detail.set_leader_address(leader);
  detail.set_chain_id(chain_id);
  SetDetail(detail, &status);
  return status;
}

absl::Status WithoutLeader(absl::Status status) {
  auto detail = DetailIn<NotLeaderDetail>(status);
  if (!detail.has_value()) return status;
  detail->clear_leader_address();
  SetDetail(*detail, &status);
  return status;
}

absl::Status WithLeadersPort(absl::Status status, int port) {
  auto detail = DetailIn<NotLeaderDetail>(status);
  if (!detail.has_value()) return status;
  const std::string& leader = detail->leader_address();
  if (leader.empty()) return status;
  detail->set_leader_address(
      absl::StrCat(leader.substr(0, leader.rfind(':')), ":", port));
  SetDetail(*detail, &status);
  return status;
}

std::optional<std::string> LeaderIn(const absl::Status& status) {
  const auto detail = DetailIn<NotLeaderDetail>(status);
  if (!detail.has_value()) return std::nullopt;
  return detail->leader_address();
}

}  // namespace kamino::rpc
