#include "tests/simulation/client_view_checker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace kamino::simulation {
namespace {

using List = std::vector<std::string>;

List Split(absl::string_view list) {
  return absl::StrSplit(list, ' ', absl::SkipEmpty());
}

absl::Status Violation(const Record& record, const std::string& what) {
  return absl::DataLossError(absl::StrCat(
      "by the client's word: ", record.is_read ? "read " : "lists ", record.id,
      " of ", record.client, ": ", what));
}

// An order of transactions, as edges of a graph.
class Order {
 public:
  int AddNode() {
    edges_.emplace_back();
    return static_cast<int>(edges_.size()) - 1;
  }
  void Before(int first, int second) {
    if (first != second) edges_[first].push_back(second);
  }

  // The nodes of a cycle; empty when there is none.
  std::vector<int> FindCycle() const {
    enum : char { kNew, kOnPath, kDone };
    std::vector<char> state(edges_.size(), kNew);
    std::vector<std::pair<int, size_t>> path;  // node, its next edge
    for (size_t start = 0; start < edges_.size(); ++start) {
      if (state[start] != kNew) continue;
      path.push_back({static_cast<int>(start), 0});
      state[start] = kOnPath;
      while (!path.empty()) {
        auto& [node, next] = path.back();
        if (next == edges_[node].size()) {
          state[node] = kDone;
          path.pop_back();
          continue;
        }
        const int to = edges_[node][next++];
        if (state[to] == kDone) continue;
        if (state[to] == kOnPath) return CycleFrom(path, to);
        state[to] = kOnPath;
        path.push_back({to, 0});
      }
    }
    return {};
  }

 private:
  static std::vector<int> CycleFrom(
      const std::vector<std::pair<int, size_t>>& path, int to) {
    std::vector<int> cycle;
    for (auto it = path.rbegin(); it != path.rend(); ++it) {
      cycle.push_back(it->first);
      if (it->first == to) break;
    }
    std::reverse(cycle.begin(), cycle.end());
    return cycle;
  }

  std::vector<std::vector<int>> edges_;
};

class ListChecker {
 public:
  ListChecker(const History& history,
              const std::map<std::string, std::string>& final_lists)
      : history_(history) {
    for (const auto& [key, list] : final_lists) final_[key] = Split(list);
  }

  absl::Status Check() {
    absl::Status status = FindWriters();
    for (const Record& record : history_) {
      if (!status.ok()) return status;
      if (record.repeats) continue;
      if (record.is_read) {
        if (record.end == Record::End::kDone) status = OnRead(record);
      } else if (record.request.function == "test.lists") {
        status = OnLists(record);
      }
    }
    if (!status.ok()) return status;
    OrderByTime();
    return CheckOrder();
  }

 private:
  struct Place {
    std::string key;
    size_t index;
  };

  static std::vector<std::vector<std::string>> Steps(const Record& record) {
    std::vector<std::vector<std::string>> steps;
    for (absl::string_view step :
         absl::StrSplit(record.request.arguments, ',')) {
      steps.push_back(absl::StrSplit(step, ' '));
    }
    return steps;
  }

  int NodeOf(const Record& record) {
    const auto [found, added] = nodes_.insert({&record, 0});
    if (added) {
      found->second = order_.AddNode();
      records_.resize(found->second + 1);
      records_[found->second] = &record;
    }
    return found->second;
  }

  // Finds which transaction put which element where in the final lists.
  absl::Status FindWriters() {
    std::map<std::string, Place> places;
    for (const auto& [key, list] : final_) {
      for (size_t i = 0; i < list.size(); ++i) {
        if (places.insert({list[i], {key, i}}).second) continue;
        return absl::DataLossError(absl::StrCat(
            "by the client's word: element ", list[i], " is there twice"));
      }
      writers_[key].resize(list.size(), -1);
    }
    for (const Record& record : history_) {
      if (record.is_read || record.repeats ||
          record.request.function != "test.lists") {
        continue;
      }
      for (const auto& step : Steps(record)) {
        if (step[0] != "a") continue;
        const auto place = places.find(step[2]);
        const bool there =
            place != places.end() && place->second.key == step[1];
        if (!there && record.end == Record::End::kDone) {
          return Violation(record, absl::StrCat("element ", step[2],
                                                " was acknowledged, and is "
                                                "not in ",
                                                step[1]));
        }
        if (there && record.end == Record::End::kRefused) {
          return Violation(record, absl::StrCat("refused, and yet ", step[2],
                                                " is in ", step[1]));
        }
        if (there) {
          writers_[step[1]][place->second.index] = NodeOf(record);
        }
      }
    }
    for (auto& [key, writers] : writers_) {
      for (size_t i = 0; i + 1 < writers.size(); ++i) {
        if (writers[i] >= 0 && writers[i + 1] >= 0) {
          order_.Before(writers[i], writers[i + 1]);
        }
      }
    }
    return absl::OkStatus();
  }

  // `record` saw this of a list, without its own element, if any.
  absl::Status OnSeen(const Record& record, const std::string& key,
                      const List& seen) {
    const List& whole = final_[key];
    if (seen.size() > whole.size() ||
        !std::equal(seen.begin(), seen.end(), whole.begin())) {
      return Violation(
          record,
          absl::StrCat("saw ", key, " as ", absl::StrJoin(seen, " "),
                       ", in the end it is ", absl::StrJoin(whole, " ")));
    }
    const int node = NodeOf(record);
    const std::vector<int>& writers = writers_[key];
    if (!seen.empty() && writers[seen.size() - 1] >= 0) {
      order_.Before(writers[seen.size() - 1], node);
    }
    if (seen.size() < writers.size() && writers[seen.size()] >= 0) {
      order_.Before(node, writers[seen.size()]);
    }
    return absl::OkStatus();
  }

  absl::Status OnRead(const Record& record) {
    for (const ReadValue& value : record.values) {
      if (value.key[0] != 'l') continue;
      absl::Status status = OnSeen(record, value.key, Split(value.value));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status OnLists(const Record& record) {
    if (record.end != Record::End::kDone) return absl::OkStatus();
    const std::vector<std::string> results = absl::StrSplit(record.result, ';');
    size_t next = 0;
    std::map<std::string, std::string> own;
    for (const auto& step : Steps(record)) {
      if (step[0] == "a") {
        own[step[1]] = step[2];
        continue;
      }
      if (next >= results.size()) return Violation(record, "too few results");
      List seen = Split(results[next++]);
      const auto mine = own.find(step[1]);
      if (mine != own.end()) {
        if (seen.empty() || seen.back() != mine->second) {
          return Violation(record, "did not see what it had appended itself");
        }
        seen.pop_back();
      }
      absl::Status status = OnSeen(record, step[1], seen);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // A node for each return, in order; a record that began later comes after it.
  void OrderByTime() {
    std::vector<std::pair<absl::Time, int>> returns;
    std::vector<std::pair<absl::Time, int>> calls;
    for (size_t node = 0; node < records_.size(); ++node) {
      calls.push_back({records_[node]->invoked, static_cast<int>(node)});
      if (records_[node]->returned < absl::InfiniteFuture()) {
        returns.push_back({records_[node]->returned, static_cast<int>(node)});
      }
    }
    std::sort(returns.begin(), returns.end());
    std::sort(calls.begin(), calls.end());
    auto next = returns.begin();
    int last = -1;
    for (const auto& [time, node] : calls) {
      for (; next != returns.end() && next->first < time; ++next) {
        const int moment = order_.AddNode();
        if (last >= 0) order_.Before(last, moment);
        order_.Before(next->second, moment);
        last = moment;
      }
      if (last >= 0) order_.Before(last, node);
    }
  }

  absl::Status CheckOrder() {
    std::vector<std::string> cycle;
    for (int node : order_.FindCycle()) {
      cycle.push_back(static_cast<size_t>(node) < records_.size()
                          ? absl::StrCat(records_[node]->id)
                          : "(time)");
    }
    if (cycle.empty()) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("by the client's word: each of these came before the "
                     "next, and the last before the first: ",
                     absl::StrJoin(cycle, " ")));
  }

  const History& history_;
  std::map<std::string, List> final_;
  std::map<std::string, std::vector<int>> writers_;  // by index; -1: none
  std::map<const Record*, int> nodes_;
  std::vector<const Record*> records_;  // by node
  Order order_;
};

}  // namespace

absl::Status CheckLists(const History& history,
                        const std::map<std::string, std::string>& final_lists) {
  return ListChecker(history, final_lists).Check();
}

absl::Status CheckAccounts(const History& history,
                           const std::vector<std::string>& accounts,
                           int64_t total) {
  for (const Record& record : history) {
    if (record.end != Record::End::kDone || record.keys != accounts) continue;
    int64_t sum = 0;
    size_t found = 0;
    for (const ReadValue& value : record.values) {
      int64_t balance = 0;
      if (!value.found) continue;
      ++found;
      if (!absl::SimpleAtoi(value.value, &balance) || balance < 0) {
        return Violation(
            record, absl::StrCat(value.key, " holds \"", value.value, "\""));
      }
      sum += balance;
    }
    if (found == 0 || (found == accounts.size() && sum == total)) continue;
    return Violation(record, absl::StrCat("saw ", found, " accounts with ", sum,
                                          " in them, not ", total));
  }
  return absl::OkStatus();
}

}  // namespace kamino::simulation
