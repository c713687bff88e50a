// Gets room in the log and in the heap for transactions that find none: from
// commits that it has flushed and from matrices that it has dissolved, and from
// other threads that are about to give room back.
#ifndef KAMINO_LAB_ARCHAPT_ROOM_MAKER_H_
#define KAMINO_LAB_ARCHAPT_ROOM_MAKER_H_

#include <cstdint>

#include "absl/time/time.h"
#include "lab/archapt/advancer.h"
#include "lab/archapt/backlog.h"
#include "lab/archapt/durable_progress.h"
#include "lab/archapt/matrix_keeper.h"

namespace kamino::engine {

// Thread-safe.
class RoomMaker {
 public:
  // `log_wait`: ArchaptOptions::log_wait. All must outlive this.
  RoomMaker(absl::Duration log_wait, Advancer* advancer, MatrixKeeper* matrices,
            Backlog* backlog, DurableProgress* progress)
      : log_wait_(log_wait),
        advancer_(*advancer),
        matrices_(*matrices),
        backlog_(*backlog),
        progress_(*progress) {}

  // Makes room when the log has none. Each call does more; `attempt` is the
  // number of calls before. False: nothing is left to try.
  bool MakeRoom(int attempt);
  // The same for the heap.
  void FreeBlocks();

 private:
  // Waits for flushes that other threads have made and not drained, and for
  // matrices that they dissolve, log_wait_ at most. Their room is free then.
  void AwaitOthers();
  // Whether there are such, in what is committed up to that sequence.
  bool RoomIsComing(uint64_t sequence) const;

  const absl::Duration log_wait_;
  Advancer& advancer_;
  MatrixKeeper& matrices_;
  Backlog& backlog_;
  DurableProgress& progress_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_ROOM_MAKER_H_
