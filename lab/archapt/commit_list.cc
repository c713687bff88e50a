#include "lab/archapt/commit_list.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/memory/memory.h"

namespace kamino::engine {

std::unique_ptr<PendingCommit> CommitList::TakeSpare() {
  if (spare_.empty()) spare_.push_back(absl::make_unique<PendingCommit>());
  std::unique_ptr<PendingCommit> commit = std::move(spare_.back());
  spare_.pop_back();
  // The next one's; another thread had it last.
  if (!spare_.empty()) __builtin_prefetch(spare_.back().get(), 1);
  return commit;
}

uint64_t CommitList::Append(LogicalCommit logical, PendingTable* pending) {
  std::unique_ptr<PendingCommit> commit = TakeSpare();
  commit->sequence = std::max(last(), given_) + 1;
  commit->transaction = logical.transaction;
  commit->headers = std::move(logical.headers);
  commit->freed = std::move(logical.freed);
  commit->objects.clear();
  for (LogicalCommit::Object& one : logical.objects) {
    if (one.lines.empty()) continue;
    commit->objects.push_back(one.object);
    pending->SetPending(one.object, commit.get(), std::move(one.lines));
  }
  commit->outstanding = commit->objects.size() + 1;
  freed_blocks_ += commit->freed.size();
  last_ = commit->sequence;
  commits_.push_back(std::move(commit));
  return last();
}

uint64_t CommitList::middle() const {
  return commits_.empty() ? 0 : commits_[commits_.size() / 2]->sequence;
}

bool CommitList::TakeReady(size_t most, PendingCommits* ready) {
  for (size_t i = 0; i < most; ++i) {
    if (!HasReady()) return false;
    ready->push_back(std::move(commits_.front()));
    commits_.pop_front();
  }
  return true;
}

void CommitList::Recycle(PendingCommits commits) {
  for (const auto& commit : commits) freed_blocks_ -= commit->freed.size();
  spare_.insert(spare_.end(), std::make_move_iterator(commits.begin()),
                std::make_move_iterator(commits.end()));
}

}  // namespace kamino::engine
