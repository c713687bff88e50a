#include "engine/index/version_summary.h"

namespace kamino::engine {

void VersionSummary::Change(ObjectId page, uint64_t newest) {
  if (newest == kUnknown) {
    newest_.erase(page);
  } else {
    newest_[page] = newest;
  }
}

void VersionSummary::Raise(ObjectId page, uint64_t version) {
  const auto found = newest_.find(page);
  if (found == newest_.end() || found->second >= version) return;
  before_.push_back({page, found->second});
  found->second = version;
}

void VersionSummary::Inherit(ObjectId page, ObjectId from) {
  before_.push_back({page, Newest(page)});
  Change(page, Newest(from));
}

void VersionSummary::Forget(ObjectId page) {
  before_.push_back({page, Newest(page)});
  Change(page, kUnknown);
}

void VersionSummary::Keep() { before_.clear(); }

void VersionSummary::RollBack() {
  for (auto change = before_.rbegin(); change != before_.rend(); ++change) {
    Change(change->page, change->newest);
  }
  before_.clear();
}

void VersionSummary::ForgetAll() {
  newest_.clear();
  before_.clear();
}

}  // namespace kamino::engine
