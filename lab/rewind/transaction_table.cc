#include "lab/rewind/transaction_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/resource_error.h"
#include "lab/explore.h"

namespace kamino::engine {

void TransactionTable::Finish(OwnRecords own) {
  --live_;
  storing_.erase(own.end->indexed.id);
  finished_.push_back(std::move(own));
}

uint64_t TransactionTable::FloorBefore(uint64_t next_id) const {
  return storing_.empty() ? next_id : std::min(next_id, *storing_.begin());
}

std::vector<OwnRecords> TransactionTable::TakeFinished(uint64_t floor) {
  const auto late = std::partition(
      finished_.begin(), finished_.end(),
      [floor](const OwnRecords& own) { return own.end->indexed.id < floor; });
  std::vector<OwnRecords> taken(std::make_move_iterator(finished_.begin()),
                                std::make_move_iterator(late));
  finished_.erase(finished_.begin(), late);
  leaving_ = taken.size();
  return taken;
}

absl::Status TransactionTable::Full() const {
  Reached(LabBranch::kRewindLogFull);
  const size_t ended = finished_.size() + leaving_;
  if (live_ > 1 || ended > 0) {
    return ResourceError(
        Resource::kLog,
        absl::StrCat("the log is full of the records of ", live_,
                     " unfinished transactions, and ", ended, " that ended"));
  }
  return ResourceError(Resource::kTransaction,
                       "no space in log and heap for the transaction's "
                       "records; make it smaller, or the heap larger");
}

}  // namespace kamino::engine
