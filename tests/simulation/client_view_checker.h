// Invariants of a history that only the clients' observations prove: neither
// the log nor any number that the chain gave out is trusted.
#ifndef KAMINO_TESTS_SIMULATION_CLIENT_VIEW_CHECKER_H_
#define KAMINO_TESTS_SIMULATION_CLIENT_VIEW_CHECKER_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/simulation/history.h"

namespace kamino::simulation {

// Lists whose elements are unique show which transaction came before which.
// `final_lists` is what the lists hold in the end.
//   - every list that was seen is a prefix of the final one;
//   - an acknowledged element is in it once, a refused one is not;
//   - the transactions have an order: their observations of each other, and the
//     fact that one returned before the other began, make no cycle.
absl::Status CheckLists(const History& history,
                        const std::map<std::string, std::string>& final_lists);

// Each read of all accounts at once saw `total` in them, or no accounts.
absl::Status CheckAccounts(const History& history,
                           const std::vector<std::string>& accounts,
                           int64_t total);

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_CLIENT_VIEW_CHECKER_H_
