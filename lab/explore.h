// The laboratory's branches that a campaign must reach (engine/explore.h).
#ifndef KAMINO_LAB_EXPLORE_H_
#define KAMINO_LAB_EXPLORE_H_

#include "engine/explore.h"

namespace kamino::engine {

// KAMINO_LAB_BRANCHES(X) calls X(name) for each.
#define KAMINO_LAB_BRANCHES(X)                                         \
  /* WrAP's log. */                                                    \
  X(kWrapGoesOnInLog)                                                  \
  X(kWrapGoesOnInHeap)                                                 \
  X(kWrapRetiresForRoom)                                               \
  X(kWrapLogFull)                                                      \
  X(kWrapOvertakes) /* is durable before one that closed first */      \
  /* Archapt's queue, matrices and ring. */                            \
  X(kArchaptSeals)                                                     \
  X(kArchaptDissolves)                                                 \
  X(kArchaptMeetsOthersWork) /* on a matrix that it has to dissolve */ \
  X(kArchaptForcesForRoom)                                             \
  X(kArchaptAwaitsOthers) /* as they are about to give room back */    \
  X(kArchaptLogFull)                                                   \
  X(kArchaptGoesRound)                                                 \
  X(kArchaptTailPassesCommit)                                          \
  /* REWIND's log. */                                                  \
  X(kRewindGroupCut)    /* by a bucket's end, or as it is too long */  \
  X(kRewindBucketAgain) /* the last one, once it is empty */           \
  X(kRewindBucketLeaves)                                               \
  X(kRewindRecordInHeap)                                               \
  X(kRewindLogFull)                                                    \
  X(kRewindUndoes) /* an abort, or an error at the commit */           \
  /* Recovery. */                                                      \
  X(kWrapReplayed)                                                     \
  X(kWrapCutOff)  /* in its close, or what is left of an older one */  \
  X(kWrapMissing) /* a later one has closed */                         \
  X(kWrapReadOn)  /* in another piece */                               \
  X(kWrapNoMarker)                                                     \
  X(kArchaptRepairs)                                                   \
  X(kArchaptLoses)                                                     \
  X(kArchaptLossIsRolledBack)                                          \
  X(kArchaptLostBefore) /* a slot says so */                           \
  X(kArchaptRollsBack)                                                 \
  X(kRewindAppendedAgain)                                              \
  X(kRewindRemovedAgain)                                               \
  X(kRewindWordsPutBack)                                               \
  X(kRewindRedone)                                                     \
  X(kRewindBelowFloor) /* its transaction is, and left out */          \
  X(kRewindUndone)                                                     \
  X(kRewindUndoneBefore)   /* by the transaction itself */             \
  X(kRewindStoredOnceMore) /* with force: the last that was undone */

enum class LabBranch {
#define KAMINO_BRANCH(name) name,
  KAMINO_LAB_BRANCHES(KAMINO_BRANCH)
#undef KAMINO_BRANCH
      kCount
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_EXPLORE_H_
