#include "transport/loop/accept_gate.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "glog/logging.h"

namespace kamino::transport {
namespace {

absl::Status Full(int count, absl::string_view of_what) {
  return absl::ResourceExhaustedError(absl::StrCat(count, " links ", of_what));
}

}  // namespace

std::optional<AcceptGate::Refused> AcceptGate::MayCome(
    const std::string& host) const {
  const int open_links = static_cast<int>(links_.size() - waiting_.size());
  if (open_links >= options_.max_accepted) {
    return Refused{LinkRefusal::kTooMany,
                   Full(open_links, "are accepted already")};
  }
  const auto found = hosts_.find(host);
  if (host.empty() || found == hosts_.end()) return std::nullopt;
  const Host& from = found->second;
  if (from.half_open >= options_.max_half_open_of_address) {
    return Refused{
        LinkRefusal::kHalfOpen,
        Full(from.half_open, "from its address are not established yet")};
  }
  if (options_.max_of_address != 0 &&
      from.half_open + from.open >= options_.max_of_address) {
    return Refused{LinkRefusal::kTooManyOfAddress,
                   Full(from.half_open + from.open,
                        "from its address are accepted already")};
  }
  return std::nullopt;
}

LoopLink* AcceptGate::InTheWay() const {
  if (static_cast<int>(waiting_.size()) < options_.max_half_open) {
    return nullptr;
  }
  const Waiting* most = nullptr;
  for (const Waiting& each : waiting_) {
    if (most == nullptr || each.host->half_open > most->host->half_open) {
      most = &each;
    }
  }
  return most->link;
}

void AcceptGate::Came(LoopLink* link, const std::string& host, absl::Time now) {
  Host& from = hosts_[host];
  ++from.half_open;
  waiting_.push_back({link, &from});
  links_[link] = {host, "", now, false, std::prev(waiting_.end())};
  if (options_.events != nullptr) options_.events->OnHalfOpen(+1);
}

void AcceptGate::StopWaiting(const Come& come) {
  --come.waiting->host->half_open;
  waiting_.erase(come.waiting);
  if (options_.events != nullptr) options_.events->OnHalfOpen(-1);
}

std::optional<AcceptGate::Refused> AcceptGate::Open(LoopLink* link,
                                                    const std::string& identity,
                                                    absl::Time now) {
  const int open_links = static_cast<int>(links_.size() - waiting_.size());
  if (open_links >= options_.max_accepted) {
    return Refused{LinkRefusal::kTooMany,
                   Full(open_links, "are accepted already")};
  }
  if (options_.max_of_identity != 0 && !identity.empty()) {
    const auto found = identities_.find(identity);
    if (found != identities_.end() &&
        found->second >= options_.max_of_identity) {
      return Refused{
          LinkRefusal::kTooManyOfIdentity,
          Full(found->second, absl::StrCat("of ", identity, " are accepted"))};
    }
  }
  Come& come = links_.at(link);
  StopWaiting(come);
  come.open = true;
  ++hosts_[come.host].open;
  come.identity = identity;
  if (!identity.empty()) ++identities_[identity];
  if (options_.events != nullptr) options_.events->OnEstablished(now - come.at);
  return std::nullopt;
}

void AcceptGate::Left(LoopLink* link) {
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  const Come& come = found->second;
  const auto host = hosts_.find(come.host);
  if (come.open) {
    --host->second.open;
  } else {
    StopWaiting(come);
  }
  if (host->second.open == 0 && host->second.half_open == 0) {
    hosts_.erase(host);
  }
  if (!come.identity.empty()) {
    const auto same = identities_.find(come.identity);
    if (--same->second == 0) identities_.erase(same);
  }
  links_.erase(found);
}

void AcceptGate::TellRefusal(absl::string_view peer, LinkRefusal why,
                             absl::string_view text, bool told) {
  if (options_.events != nullptr) options_.events->OnRefused(why);
  if (told) return;
  const auto end = refusals_.Take(MonotonicNow());
  LOG_IF(WARNING, end.has_value())
      << "refused " << peer << " at " << address << ": " << text << *end;
}

}  // namespace kamino::transport
