// The committed transactions whose changes the undo copy lacks, and how many
// transactions have ended. Threads are spread over lanes, so that they seldom
// contend. Private to the store.
//
// Thread-safe. Owns the states of these transactions.
#ifndef KAMINO_ENGINE_KAMINO_COMMIT_LANES_H_
#define KAMINO_ENGINE_KAMINO_COMMIT_LANES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "engine/kamino/lock_table.h"
#include "engine/kamino/spin_lock.h"
#include "engine/kamino/transaction_state.h"

namespace kamino::engine {

class CommitLanes {
 public:
  using State = std::unique_ptr<TransactionState>;
  // In place up to the number that a thread usually has.
  using Batch = absl::InlinedVector<State, 4>;

  // A thread's state between its last commit and the next.
  struct Turn {
    State before;        // changes that the next drain can also propagate
    bool taken = false;  // this thread has taken the lane's last
  };

  struct Counts {
    uint64_t committed = 0;
    uint64_t aborted = 0;
    uint64_t pending = 0;
  };

  CommitLanes() : lanes_(new Lane[kLanes]) {}

  // A new owner, which names the lane of this thread.
  static LockTable::Owner NewOwner();
  // Whether a transaction of that owner is in this thread's lane.
  bool IsMine(LockTable::Owner owner) const;

  // Before a commit that may propagate the changes of the one before. Add ends
  // the turn.
  Turn TakeTurn();
  // Counts the transaction, and keeps it until it is taken. Returns it instead
  // if it is `propagated`: the undo copy has its changes. `taken`: as in the
  // thread's Turn, which never has a propagated one.
  State Add(State state, bool taken, bool propagated);
  // For transactions without changes. Takes no lock.
  void CountEmpty();
  void CountAborted();

  // Adds up to `max` committed transactions of any lanes to the batch. Their
  // locks are held.
  void Take(size_t max, Batch* batch);
  // The same for all transactions of this thread's lane, or of the owner's.
  void TakeMine(Batch* batch);
  void TakeOf(LockTable::Owner owner, Batch* batch);

  // How many can be taken; may leave out what other threads have just added.
  size_t Pending() const;
  size_t PendingOfMine() const;

  // The largest sequence of all that were added.
  uint64_t LargestSequence() const;
  Counts counts() const;

 private:
  enum class Last : uint8_t { kNone, kReady, kTaken };
  struct alignas(64) Lane {
    // A thread sets kTaken to take `last` over. It does so when it begins to
    // commit, because its drain then also covers those changes, or to propagate
    // them. Until it sets another value, no other thread changes the fields of
    // this group. So it uses plain stores: a locked instruction would wait for
    // the flushes under way.
    std::atomic<Last> state{Last::kNone};
    // With kReady: the last transaction committed on this lane, whose changes
    // are not durably in the undo copy yet.
    TransactionState* last = nullptr;
    std::atomic<uint64_t> committed_last{0};  // transactions that were `last`
    std::atomic<uint64_t> sequence_last{0};   // the largest of theirs

    // Committed while another thread of the lane had its turn, or by a thread
    // that takes no turns.
    mutable SpinLock mutex;
    std::vector<State> pending ABSL_GUARDED_BY(mutex);
    // A hint whether there are any.
    std::atomic<bool> any{false};
    std::atomic<uint64_t> sequence{0};  // largest of those; changes with mutex
    std::atomic<uint64_t> committed_empty{0};  // without changes
    uint64_t committed ABSL_GUARDED_BY(mutex) = 0;
    uint64_t aborted ABSL_GUARDED_BY(mutex) = 0;
  };
  static constexpr size_t kLanes = 64;

  Lane& MyLane() const;
  // The lane of the thread that made the owner.
  Lane& LaneOf(LockTable::Owner owner) const;
  static void TakePending(Lane& lane, size_t max, Batch* batch);
  static size_t PendingIn(const Lane& lane)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lane.mutex);

  const std::unique_ptr<Lane[]> lanes_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_COMMIT_LANES_H_
