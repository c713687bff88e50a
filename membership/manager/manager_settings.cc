#include "membership/manager/manager_settings.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace kamino::membership {

std::string SettingsDiffer(const kamino::internal::v1::RenewalRecord& own,
                           const kamino::internal::v1::RenewalRecord& theirs) {
  if (theirs.leader().empty() || theirs.leader() == own.leader()) return "";
  const kamino::v1::ManagerSettings& here = own.settings();
  const kamino::v1::ManagerSettings& there = theirs.settings();
  std::vector<std::string> differ;
  const auto compare = [&](absl::string_view flag, uint32_t our,
                           uint32_t their) {
    if (our == their) return;
    differ.push_back(
        absl::StrCat("--", flag, " (", our, " here, ", their, " there)"));
  };
  // A leader of an older release stores no settings.
  if (theirs.has_settings()) {
    compare("chain_length", here.chain_length(), there.chain_length());
    compare("failure_timeout_ms", here.failure_timeout_ms(),
            there.failure_timeout_ms());
    compare("heartbeat_interval_ms", here.heartbeat_interval_ms(),
            there.heartbeat_interval_ms());
    // An older release lacks this one.
    if (there.away_limit_s() != 0 || here.away_limit_s() == 0) {
      compare("away_limit in seconds", here.away_limit_s(),
              there.away_limit_s());
    }
    compare("compact_etcd", here.compacts_etcd(), there.compacts_etcd());
  }
  compare("leader_ttl_s", own.ttl_ms() / 1000, theirs.ttl_ms() / 1000);
  if (differ.empty()) return "";
  return absl::StrCat(
      "the manager at ", own.leader(), " was started with another ",
      absl::StrJoin(differ, " and "), " than the one at ", theirs.leader(),
      ", which ", theirs.resigned() ? "led last" : "leads",
      ": the leader uses its own flags; start all managers with the same "
      "flags");
}

}  // namespace kamino::membership
