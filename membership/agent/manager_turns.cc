#include "membership/agent/manager_turns.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "glog/logging.h"
#include "membership/view.h"

namespace kamino::membership {
namespace {

// A manager may name a former leader, which names its successor.
constexpr int kMostRedirects = 2;

}  // namespace

ManagerTurns::ManagerTurns(std::vector<std::string> given)
    : given_(given.size()), managers_(std::move(given)) {
  CHECK(!managers_.empty());
}

void ManagerTurns::OnFailure(absl::string_view leader) {
  if (!leader.empty() && leader.size() <= kMaxAddressBytes &&
      leader != current() && redirects_ < kMostRedirects) {
    ++redirects_;
    return Redirect(std::string(leader));
  }
  turn_ = (turn_ + 1) % managers_.size();
  current_ = turn_;
  redirects_ = 0;
}

void ManagerTurns::Redirect(const std::string& leader) {
  auto found = std::find(managers_.begin(), managers_.end(), leader);
  if (found == managers_.end()) {
    // One place for a leader that was not given; a later one replaces it.
    managers_.resize(given_);
    managers_.push_back(leader);
    found = std::prev(managers_.end());
  }
  current_ = static_cast<size_t>(found - managers_.begin());
}

}  // namespace kamino::membership
