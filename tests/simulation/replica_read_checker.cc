#include "tests/simulation/replica_read_checker.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/simulation/model.h"

namespace kamino::simulation {
namespace {

absl::Status Violation(const Record& record, const std::string& what) {
  return absl::DataLossError(absl::StrCat(
      record.at_replica ? "read at a replica " : "after one at a replica: ",
      record.id, " of ", record.client, ", ",
      absl::FormatDuration(record.invoked - absl::UnixEpoch()), " to ",
      absl::FormatDuration(record.returned - absl::UnixEpoch()), ": ", what));
}

// All states of a chain, each at the end of a log entry.
class States {
 public:
  absl::Status Fill(const CommittedLog& log) {
    Model model;
    for (const CommittedLog::Entry& each : log.entries()) {
      const auto entry = replica::LogEntry::Check(each.bytes);
      if (!entry.ok()) return entry.status();
      const auto mutations = entry->Mutations();
      if (!mutations.ok()) return mutations.status();
      uint64_t sequence = each.first;
      for (const auto& mutation : *mutations) {
        model.Execute(mutation, sequence++);
      }
      Add(model, each.last);
    }
    return absl::OkStatus();
  }

  // Whether the read saw the state after mutation `sequence` and before the
  // next entry.
  bool Holds(const Record& read, uint64_t sequence) const {
    return std::all_of(
        read.values.begin(), read.values.end(), [&](const ReadValue& value) {
          const Model::Object* object = At(value.key, sequence);
          return value.found == (object != nullptr) &&
                 (object == nullptr || (object->value == value.value &&
                                        object->version == value.version));
        });
  }

  // The first state from `least` to `most` that the read saw.
  bool FindFirst(const Record& read, uint64_t least, uint64_t most,
                 uint64_t* found) const {
    if (Holds(read, least)) {
      *found = least;
      return true;
    }
    for (auto end = std::upper_bound(ends_.begin(), ends_.end(), least);
         end != ends_.end() && *end <= most; ++end) {
      if (!Holds(read, *end)) continue;
      *found = *end;
      return true;
    }
    return false;
  }

 private:
  struct Change {
    uint64_t since;
    bool found;
    Model::Object object;
  };

  void Add(const Model& model, uint64_t sequence) {
    ends_.push_back(sequence);
    for (const auto& [key, object] : model.objects()) {
      std::vector<Change>& changes = changes_[key];
      if (!changes.empty() && changes.back().found &&
          changes.back().object == object) {
        continue;
      }
      changes.push_back({sequence, true, object});
    }
    for (auto& [key, changes] : changes_) {
      if (changes.back().found && model.objects().count(key) == 0) {
        changes.push_back({sequence, false, {}});
      }
    }
  }

  const Model::Object* At(const std::string& key, uint64_t sequence) const {
    const auto changes = changes_.find(key);
    if (changes == changes_.end()) return nullptr;
    const auto after = std::upper_bound(
        changes->second.begin(), changes->second.end(), sequence,
        [](uint64_t wanted, const Change& c) { return wanted < c.since; });
    if (after == changes->second.begin()) return nullptr;
    const Change& change = *std::prev(after);
    return change.found ? &change.object : nullptr;
  }

  std::vector<uint64_t> ends_;
  std::map<std::string, std::vector<Change>> changes_;
};

}  // namespace

absl::Status CheckReplicaReads(const History& history,
                               const CommittedLog& log) {
  if (std::none_of(history.begin(), history.end(),
                   [](const Record& record) { return record.at_replica; })) {
    return absl::OkStatus();
  }
  States states;
  if (absl::Status filled = states.Fill(log); !filled.ok()) return filled;
  // The number that an answer told, and when; the earliest first.
  using Told = std::pair<absl::Time, uint64_t>;
  std::priority_queue<Told, std::vector<Told>, std::greater<Told>> told;
  uint64_t floor = 0;
  for (const Record& record : history) {  // by invocation
    for (; !told.empty() && told.top().first < record.invoked; told.pop()) {
      floor = std::max(floor, told.top().second);
    }
    if (record.end != Record::End::kDone) continue;
    uint64_t seen = record.sequence;
    if (record.at_replica) {
      if (!states.Holds(record, record.sequence)) {
        return Violation(record, absl::StrCat("is not as of ", record.sequence,
                                              ", as it says"));
      }
      if (!states.FindFirst(record, std::max(floor, record.sequence),
                            record.newest_at_return, &seen)) {
        return Violation(record,
                         absl::StrCat("saw no state from ", floor,
                                      ", which was told before it began, to ",
                                      record.newest_at_return));
      }
    } else if (!record.repeats && seen < floor) {
      return Violation(record, absl::StrCat("is as of ", seen, ", but ", floor,
                                            " was told before it began"));
    }
    told.push({record.returned, seen});
  }
  return absl::OkStatus();
}

}  // namespace kamino::simulation
