// The transactions that have records in REWIND's log: live ones, and those that
// have ended and wait for a checkpoint.
//
// Invariant: the floor is above the end of a transaction only once that has
// stored everything, so that a checkpoint can flush it.
#ifndef KAMINO_LAB_REWIND_TRANSACTION_TABLE_H_
#define KAMINO_LAB_REWIND_TRANSACTION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "lab/rewind/log_record.h"

namespace kamino::engine {

// Not thread-safe.
class TransactionTable {
 public:
  // One is to have records; until Leave or Finish.
  void Enter() { ++live_; }
  void Leave() { --live_; }

  // The end of one is about to be logged, and it may still be storing; until
  // Finish.
  void BeginStoring(uint64_t end_id) { storing_.insert(end_id); }
  // It has ended and stored everything.
  void Finish(OwnRecords own);
  bool any_finished() const { return !finished_.empty(); }

  // How far a checkpoint can raise the floor, when the next record is to have
  // that id.
  uint64_t FloorBefore(uint64_t next_id) const;
  // Takes out those whose ends are below the floor. They are leaving, until
  // SetLeaving says how many of them are left.
  std::vector<OwnRecords> TakeFinished(uint64_t floor);
  void SetLeaving(size_t transactions) { leaving_ = transactions; }

  // The error for one that found no space. kLog: others have some, or give it
  // back with the next checkpoint. kTransaction: it has all there is itself.
  absl::Status Full() const;

 private:
  size_t live_ = 0;
  // Ids of ends whose transactions may still be storing, and transactions that
  // have stored everything.
  std::set<uint64_t> storing_;
  std::vector<OwnRecords> finished_;
  size_t leaving_ = 0;  // by a checkpoint under way
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_TRANSACTION_TABLE_H_
