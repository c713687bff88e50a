#include "replica/link/rejected_peers.h"

#include <algorithm>

namespace kamino::replica {
namespace {

constexpr int kMostDoublings = 8;

}  // namespace

void RejectedPeers::Forget(absl::Time now) {
  std::erase_if(peers_, [now](const auto& each) {
    return now - each.second.last >= kForgotten;
  });
}

absl::Time RejectedPeers::Note(const std::string& peer, absl::Time now) {
  Forget(now);
  Peer& known = peers_[peer];
  const int before = std::min(known.in_a_row++, kMostDoublings);
  known.last = now;
  known.until = now;
  if (before > 0) {
    known.until += std::min(kMostPause, kLeastPause * (1 << (before - 1)));
  }
  return known.until;
}

absl::Time RejectedPeers::PausedUntil(const std::string& peer) const {
  const auto known = peers_.find(peer);
  return known == peers_.end() ? absl::InfinitePast() : known->second.until;
}

}  // namespace kamino::replica
