#include "transport/loop/accept_gate.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "glog/logging.h"

namespace kamino::transport {
namespace {

// An address that had a link is no stranger for so long.
constexpr absl::Duration kKnown = absl::Minutes(10);
// With fewer hosts there is no clean-up; with more, hosts without links are
// forgotten, whatever they have done.
constexpr size_t kFewHosts = 64;
constexpr size_t kMostHosts = 65536;

absl::Status Full(int count, absl::string_view of_what) {
  return absl::ResourceExhaustedError(absl::StrCat(count, " links ", of_what));
}

}  // namespace

std::optional<AcceptGate::Refused> AcceptGate::MayCome(const std::string& host,
                                                       absl::Time now) {
  if (auto refused = TooMany(host)) return refused;
  return TooOften(host, now);
}

std::optional<AcceptGate::Refused> AcceptGate::TooMany(
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

std::optional<AcceptGate::Refused> AcceptGate::TooOften(const std::string& host,
                                                        absl::Time now) {
  const ComeRate& of_one = options_.come_of_address;
  const bool told_apart = !host.empty() && of_one.per_second != 0;
  ForgetHosts(now);
  const auto found = hosts_.find(host);
  bool known = false;
  if (found != hosts_.end()) {
    const Host& from = found->second;
    known = from.open > 0 || now < from.known_until;
    if (told_apart && !from.come.Has(of_one, now)) {
      return Refused{
          LinkRefusal::kTooOften,
          absl::ResourceExhaustedError("too many connections came from its "
                                       "address within a short time")};
    }
  }
  if (!known && !come_.Has(options_.come, now)) {
    return Refused{LinkRefusal::kTooOften,
                   absl::ResourceExhaustedError(
                       "too many connections came from addresses without "
                       "recent links within a short time")};
  }
  if (!known) come_.Take(options_.come, now);
  if (told_apart) hosts_[host].come.Take(of_one, now);
  return std::nullopt;
}

void AcceptGate::ForgetHosts(absl::Time now) {
  if (hosts_.size() < forget_at_) return;
  const bool too_many = hosts_.size() >= kMostHosts;
  absl::erase_if(hosts_, [&](const auto& known) {
    const Host& host = known.second;
    return host.idle() &&
           (too_many || (host.known_until <= now &&
                         host.come.IsFull(options_.come_of_address, now)));
  });
  forget_at_ = std::max(kFewHosts, 2 * hosts_.size());
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

std::vector<LoopLink*> AcceptGate::WaitingLinks() const {
  std::vector<LoopLink*> links;
  for (const Waiting& one : waiting_) links.push_back(one.link);
  return links;
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

void AcceptGate::Left(LoopLink* link, absl::Time now) {
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  const Come& come = found->second;
  const auto host = hosts_.find(come.host);
  if (come.open) {
    --host->second.open;
    host->second.known_until = now + kKnown;
  } else {
    StopWaiting(come);
  }
  // Its rate may matter later.
  const bool counted =
      options_.come.per_second != 0 || options_.come_of_address.per_second != 0;
  if (host->second.idle() && !counted) hosts_.erase(host);
  if (!come.identity.empty()) {
    const auto same = identities_.find(come.identity);
    if (--same->second == 0) identities_.erase(same);
  }
  links_.erase(found);
}

LinkRefusal AcceptGate::RefusalOf(const absl::Status& why) {
  switch (why.code()) {
    case absl::StatusCode::kDeadlineExceeded:
      return LinkRefusal::kTimeout;
    case absl::StatusCode::kUnauthenticated:
      return LinkRefusal::kCertificate;
    case absl::StatusCode::kPermissionDenied:
      return LinkRefusal::kNotAdmitted;
    case absl::StatusCode::kFailedPrecondition:
      return LinkRefusal::kProtocol;
    default:
      return LinkRefusal::kOther;
  }
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
