// What must hold of every run, whatever went wrong in it. All of it in time
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
//     reads are the model's, and nothing is older than what was answered
//     before it began, nor newer than what there was when it returned;
//   - what was acknowledged is in the log, once; what was refused is not, and
//     was refused for a reason that held at some moment in between;
//   - nothing is in the log that nobody sent, and nothing twice, however long
//     ago the first time was;
//   - outcomes are told as they are, or as not known if they may be dropped;
//   - of sessions: each number once, none that was voided, none after its
//     session's end, none out of its slot's turn;
//   - outcomes of `max_clients` are stored at most.
// But for reads at replicas (replica_read_checker.h).
// Leaves the model as the chain has to be. An error says which record.
absl::Status CheckAgainstLog(const History& history, const CommittedLog& log,
                             const SentRequests& sent, size_t max_clients,
                             Model* model);

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_CHECKER_H_
