// Invariants of reads that a node other than the tail answered, in addition to
// those of checker.h.
#ifndef KAMINO_TESTS_SIMULATION_REPLICA_READ_CHECKER_H_
#define KAMINO_TESTS_SIMULATION_REPLICA_READ_CHECKER_H_

#include "absl/status/status.h"
#include "tests/simulation/committed_log.h"
#include "tests/simulation/history.h"

namespace kamino::simulation {

// Such a read
//   - sees the state of the number that its answer names;
//   - sees a state that is not older than the newest answer before it began,
//     nor newer than the state when it returned. No read that begins after it
//     has returned sees an older one than the first of those.
// An error names the record.
absl::Status CheckReplicaReads(const History& history, const CommittedLog& log);

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_REPLICA_READ_CHECKER_H_
