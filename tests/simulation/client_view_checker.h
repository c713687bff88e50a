// What must hold of a history by the clients' word alone: no number that the
// chain gave out is trusted, nor its log.
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
//   - what was acknowledged is in it once, what was refused is not;
//   - the transactions have an order: what they saw of each other, and that one
//     returned before the other began, makes no cycle.
absl::Status CheckLists(const History& history,
                        const std::map<std::string, std::string>& final_lists);

// Whoever saw all accounts at once saw `total` in them, or none of them.
absl::Status CheckAccounts(const History& history,
                           const std::vector<std::string>& accounts,
                           int64_t total);

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_CLIENT_VIEW_CHECKER_H_
