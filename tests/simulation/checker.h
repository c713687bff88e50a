// Invariants of every run, whatever went wrong in it. Checking takes time
// linear in the length of the history.
#ifndef KAMINO_TESTS_SIMULATION_CHECKER_H_
#define KAMINO_TESTS_SIMULATION_CHECKER_H_

#include "absl/status/status.h"
#include "tests/simulation/committed_log.h"
#include "tests/simulation/history.h"
#include "tests/simulation/model.h"
#include "tests/simulation/sim_client.h"

namespace kamino::simulation {

// Replays the log against the model and compares what clients were told:
//   - the history is strictly serializable, in the log's order: results and
//     reads are the model's; no read is older than the newest answer before it
//     began, nor newer than the state when it returned;
//   - an acknowledged mutation is in the log, once; a refused one is not, and
//     was refused for a reason that held at some moment in between;
//   - the log has no request that no client sent, and none twice, however long
//     ago it was executed first;
//   - outcomes are told as they are, or as unknown if they may have been
//     dropped;
//   - in sessions, each number is executed once; none that was voided, none
//     after its session's end, none out of its slot's turn;
//   - at most `max_clients` outcomes are stored.
// Reads at replicas are left to replica_read_checker.h. Leaves the model in the
// state that the chain must have. An error names the record.
absl::Status CheckAgainstLog(const History& history, const CommittedLog& log,
                             const SentRequests& sent, size_t max_clients,
                             Model* model);

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_CHECKER_H_
