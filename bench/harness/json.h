// Pieces of the JSON that benches write.
#ifndef KAMINO_BENCH_HARNESS_JSON_H_
#define KAMINO_BENCH_HARNESS_JSON_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace kamino::bench {

// The conditions of the figures, by name: the machine, the scale.
using Facts = std::vector<std::pair<std::string, std::string>>;

// A string of ours, without what would not do as it is.
std::string Quote(absl::string_view text);

// A number or null.
std::string Number(const std::optional<double>& value);

// An object, on a line for each fact.
std::string ToJson(const Facts& facts);

// How the results of a bench begin: the name of the bench and the facts, in an
// object that the caller goes on with and closes. bench/report/results.py has
// the form of all results.
std::string OpenResults(absl::string_view bench, const Facts& facts);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_HARNESS_JSON_H_
