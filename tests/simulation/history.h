// Clients' requests and the answers to them, each with its time.
#ifndef KAMINO_TESTS_SIMULATION_HISTORY_H_
#define KAMINO_TESTS_SIMULATION_HISTORY_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kamino/v1/kamino.pb.h"
#include "replica/log/log_entry.h"

namespace kamino::simulation {

struct ReadValue {
  std::string key;
  bool found = false;
  std::string value;
  uint64_t version = 0;
};

struct Record {
  enum class End {
    kUnknown,  // no answer, or one that does not tell the outcome
    kDone,
    kRefused,  // changed nothing, and why
  };

  uint64_t id = 0;
  std::string client;
  absl::Time invoked;
  absl::Time returned = absl::InfiniteFuture();

  bool is_read = false;
  std::vector<std::string> keys;  // of a read
  // A read: any replica may answer it; `at_replica`: one other than the tail
  // did.
  bool any_replica = false;
  bool at_replica = false;
  // A read of the outcome of this mutation.
  std::optional<kamino::v1::RequestId> asks_for;
  kamino::v1::GetOutcomeResponse outcome;
  replica::Mutation request;  // a mutation
  // A copy, sent again, of a mutation with a record of its own.
  bool repeats = false;

  End end = End::kUnknown;
  absl::Status status;            // kRefused
  std::string result;             // of a mutation
  uint64_t sequence = 0;          // kDone
  std::vector<ReadValue> values;  // of a read

  // The highest number of a mutation at any head when it returned.
  uint64_t newest_at_return = 0;
};

// Records stay where they are.
using History = std::deque<Record>;

// The longest time between two consecutive acknowledged mutations, where `from`
// and `until` count as acknowledgments.
inline absl::Duration LongestOutage(const History& history, absl::Time from,
                                    absl::Time until) {
  std::vector<absl::Time> acknowledged = {from, until};
  for (const Record& record : history) {
    if (!record.is_read && record.end == Record::End::kDone &&
        record.returned > from) {
      acknowledged.push_back(record.returned);
    }
  }
  std::sort(acknowledged.begin(), acknowledged.end());
  absl::Duration longest;
  for (size_t i = 1; i < acknowledged.size(); ++i) {
    longest = std::max(longest, acknowledged[i] - acknowledged[i - 1]);
  }
  return longest;
}

// Acknowledged mutations per second between two moments.
inline double AcknowledgedRate(const History& history, absl::Time from,
                               absl::Time until) {
  const auto count =
      std::count_if(history.begin(), history.end(), [&](const Record& record) {
        return !record.is_read && record.end == Record::End::kDone &&
               record.returned > from && record.returned <= until;
      });
  return static_cast<double>(count) / absl::ToDoubleSeconds(until - from);
}

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_HISTORY_H_
