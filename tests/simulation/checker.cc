#include "tests/simulation/checker.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "replica/errors.h"

namespace kamino::simulation {
namespace {

using replica::LogEntry;
using replica::MutationView;
using Name = std::pair<uint64_t, uint64_t>;  // client id, number

std::string Describe(const Record& record) {
  return absl::StrCat(
      record.is_read ? "read " : record.request.function, " ", record.id,
      " of ", record.client,
      record.is_read ? ""
                     : absl::StrCat(" (", record.request.client_id, "/",
                                    record.request.number, ")"),
      ", ", absl::FormatDuration(record.invoked - absl::UnixEpoch()), " to ",
      absl::FormatDuration(record.returned - absl::UnixEpoch()));
}

absl::Status Violation(const Record& record, const std::string& what) {
  return absl::DataLossError(absl::StrCat(Describe(record), ": ", what));
}

// Whether a refusal makes a claim about the chain's state.
bool SaysSomething(kamino::v1::Reason reason) {
  switch (reason) {
    case kamino::v1::REASON_CONFLICT:
    case kamino::v1::REASON_KEY_NOT_FOUND:
    case kamino::v1::REASON_OUT_OF_RANGE:
    case kamino::v1::REASON_PROCEDURE_FAILED:
    case kamino::v1::REASON_SUPERSEDED:
    case kamino::v1::REASON_CLIENT_EXPIRED:
    case kamino::v1::REASON_SESSION_EXPIRED:
    // Only for a session's request numbers: clients send no other invalid
    // request.
    case kamino::v1::REASON_INVALID_ARGUMENT:
      return true;
    default:
      return false;
  }
}

class Replay {
 public:
  Replay(const History& history, const CommittedLog& log,
         const SentRequests& sent, size_t max_clients, Model* model)
      : history_(history),
        log_(log),
        sent_(sent),
        max_clients_(max_clients),
        model_(model) {}

  absl::Status Run() {
    Prepare();
    absl::Status status = CheckReads(0);
    if (status.ok()) status = CheckRefusals(0);
    for (const CommittedLog::Entry& entry : log_.entries()) {
      if (status.ok()) status = Apply(entry);
      // No read sees part of an operation.
      if (status.ok()) status = CheckReads(entry.last);
    }
    if (status.ok()) status = CheckAllMet();
    return status;
  }

 private:
  // Gives every record the oldest state it may have seen: the newest that any
  // client was told of before the record was invoked.
  void Prepare() {
    std::vector<std::pair<absl::Time, const Record*>> returns;
    std::vector<const Record*> by_invocation;
    for (const Record& record : history_) {
      by_invocation.push_back(&record);
      if (record.end == Record::End::kDone) {
        returns.push_back({record.returned, &record});
      }
      if (!record.is_read) {
        by_name_[{record.request.client_id, record.request.number}].push_back(
            &record);
      }
    }
    const auto earlier = [](const auto& a, const auto& b) {
      return a.first < b.first;
    };
    std::stable_sort(returns.begin(), returns.end(), earlier);
    auto next = returns.begin();
    uint64_t floor = 0;
    for (const Record* record : by_invocation) {  // in order of time already
      for (; next != returns.end() && next->first < record->invoked; ++next) {
        floor = std::max(floor, next->second->sequence);
      }
      floor_[record] = floor;
      if (record->at_replica) {
        met_[record] = true;  // CheckReplicaReads
      } else if (record->is_read && record->end == Record::End::kDone) {
        reads_[record->sequence].push_back(record);
      }
      if (record->end == Record::End::kRefused && !record->is_read &&
          SaysSomething(replica::ReasonOf(record->status))) {
        refused_.push_back(record);
      }
    }
  }

  absl::Status Apply(const CommittedLog::Entry& entry) {
    const auto log_entry = LogEntry::Check(entry.bytes);
    if (!log_entry.ok()) return log_entry.status();
    const auto mutations = log_entry->Mutations();
    if (!mutations.ok()) return mutations.status();
    uint64_t sequence = entry.first - 1;
    for (const MutationView& request : *mutations) {
      absl::Status once = CheckOnce(request, ++sequence);
      if (!once.ok()) return once;
      const Model::Outcome outcome = model_->Execute(request, sequence);
      if (!outcome.ok() || outcome.repeated) {
        return absl::DataLossError(absl::StrCat(
            "mutation ", sequence, " executes ", request.function, " of ",
            request.client_id, "/", request.number,
            outcome.repeated
                ? " a second time"
                : absl::StrCat(", which must fail: ",
                               kamino::v1::Reason_Name(outcome.refused))));
      }
      absl::Status status;
      if (request.client_id != 0) {
        status = OnExecuted(request, sequence, outcome);
      }
      // Also refusals of procedures that failed within this operation, after
      // part of it.
      if (status.ok()) status = CheckRefusals(sequence);
      if (!status.ok()) return status;
    }
    if (sequence != entry.last) {
      return absl::DataLossError(absl::StrCat(
          "a log entry of ", mutations->size(), " mutations has the numbers ",
          entry.first, " to ", entry.last));
    }
    if (model_->clients().size() <= max_clients_) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(
        "with mutation ", sequence, " outcomes of ", model_->clients().size(),
        " clients are stored; at most ", max_clients_));
  }

  // Whether its outcome was dropped in between or not.
  absl::Status CheckOnce(const MutationView& request, uint64_t sequence) {
    if (request.client_id == 0) return absl::OkStatus();
    const auto [before, first_time] =
        executed_.insert({{request.client_id, request.number}, sequence});
    if (first_time) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(
        "mutation ", sequence, " executes ", request.function, " of ",
        request.client_id, "/", request.number,
        " a second time; it is mutation ", before->second, " already"));
  }

  absl::Status OnExecuted(const MutationView& request, uint64_t sequence,
                          const Model::Outcome& outcome) {
    const Name name{request.client_id, request.number};
    const std::string bytes =
        absl::StrCat(request.function, " ", request.arguments);
    const auto sent = sent_.find(name);
    if (sent == sent_.end() ||
        std::find(sent->second.begin(), sent->second.end(), bytes) ==
            sent->second.end()) {
      return absl::DataLossError(absl::StrCat(
          "mutation ", sequence, " has a ", request.function, " of ",
          name.first, "/", name.second, " that no client sent"));
    }
    // A number that a refused mutation did not take names the next one too.
    const auto same_as = [&request](const Record* record) {
      return record->request.function == request.function &&
             record->request.arguments == request.arguments;
    };
    const std::vector<const Record*>& records = by_name_[name];
    const bool wanted =
        std::any_of(records.begin(), records.end(), [&](const Record* record) {
          return record->end != Record::End::kRefused && same_as(record);
        });
    for (const Record* record : records) {
      const bool same = same_as(record);
      if (record->end == Record::End::kRefused && same) {
        if (wanted) continue;
        return Violation(*record,
                         absl::StrCat("refused (", record->status.message(),
                                      "), but it is mutation ", sequence));
      }
      if (same && !record->repeats && sequence <= floor_[record]) {
        return Violation(
            *record, absl::StrCat("is mutation ", sequence, ", but ",
                                  floor_[record], " was told before it began"));
      }
      if (record->end != Record::End::kDone) continue;
      if (!same || record->sequence != sequence) {
        return Violation(
            *record, absl::StrCat("was answered as mutation ", record->sequence,
                                  ", but is ", sequence));
      }
      if (record->result != outcome.result) {
        return Violation(
            *record, absl::StrCat("answered \"", record->result, "\", not \"",
                                  outcome.result, "\""));
      }
      met_[record] = true;
    }
    return absl::OkStatus();
  }

  absl::Status CheckReads(uint64_t sequence) {
    for (const Record* read : reads_[sequence]) {
      if (absl::Status status = CheckRead(*read); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Releases the refusals that hold in the current state.
  absl::Status CheckRefusals(uint64_t sequence) {
    for (auto it = refused_.begin(); it != refused_.end();) {
      const Record& record = **it;
      if (sequence < floor_[&record]) break;
      if (sequence > record.newest_at_return) {
        return Violation(
            record,
            absl::StrCat("refused (", record.status.message(),
                         "), which held in no state from ", floor_[&record],
                         " to ", record.newest_at_return));
      }
      const auto reason = replica::ReasonOf(record.status);
      const bool held = model_->Try(record.request).refused == reason ||
                        (reason == kamino::v1::REASON_SESSION_EXPIRED &&
                         model_->MayHaveLost(record.request.client_id));
      it = held ? refused_.erase(it) : std::next(it);
    }
    return absl::OkStatus();
  }

  absl::Status CheckRead(const Record& read) {
    if (read.sequence < floor_[&read]) {
      return Violation(
          read, absl::StrCat("saw the state of ", read.sequence, ", but ",
                             floor_[&read], " was told before it began"));
    }
    met_[&read] = true;
    if (read.asks_for.has_value()) return CheckOutcome(read);
    for (const ReadValue& value : read.values) {
      const auto object = model_->objects().find(value.key);
      const bool found = object != model_->objects().end();
      const bool same = found == value.found &&
                        (!found || (object->second.value == value.value &&
                                    object->second.version == value.version));
      if (same) continue;
      return Violation(
          read, absl::StrCat("as of ", read.sequence, " saw ", value.key,
                             value.found ? " = " : " absent", value.value,
                             " version ", value.version, ", not ",
                             found ? object->second.value : "absent",
                             " version ", found ? object->second.version : 0));
    }
    return absl::OkStatus();
  }

  // Judges by what was executed so far, whether or not the outcome is stored.
  absl::Status CheckOutcome(const Record& read) {
    if (read.asks_for->in_session()) return CheckOutcomeInSession(read);
    const Name name{read.asks_for->client_id(), read.asks_for->number()};
    const auto at = executed_.find(name);
    const auto later = executed_.upper_bound(name);
    const bool superseded =
        later != executed_.end() && later->first.first == name.first;
    const bool stored = model_->clients().count(name.first) > 0;
    bool right = false;
    switch (read.outcome.outcome()) {
      case kamino::v1::OUTCOME_COMMITTED:
        right = at != executed_.end() && !superseded &&
                at->second == read.outcome.sequence();
        break;
      case kamino::v1::OUTCOME_NOT_COMMITTED:
        right = at == executed_.end() && !superseded;
        break;
      case kamino::v1::OUTCOME_SUPERSEDED:
        right = superseded;
        break;
      case kamino::v1::OUTCOME_UNKNOWN:
        right = !stored && read.asks_for->since() < model_->horizon();
        break;
      default:
        break;
    }
    if (right) return absl::OkStatus();
    return Violation(
        read,
        absl::StrCat("as of ", read.sequence, " was told ",
                     kamino::v1::Outcome_Name(read.outcome.outcome()), " of ",
                     name.first, "/", name.second, " since ",
                     read.asks_for->since(), ", which ",
                     at == executed_.end()
                         ? "was not executed"
                         : absl::StrCat("is mutation ", at->second),
                     superseded ? ", and over" : "",
                     stored ? "; an outcome is stored"
                            : "; none is stored, and dropped are those up to ",
                     stored ? "" : absl::StrCat(model_->horizon())));
  }

  absl::Status CheckOutcomeInSession(const Record& read) {
    const uint64_t number = read.asks_for->number();
    const auto open = model_->sessions().find(read.asks_for->client_id());
    kamino::v1::Outcome right = kamino::v1::OUTCOME_UNKNOWN;
    uint64_t sequence = 0;
    if (open != model_->sessions().end()) {
      const auto& slots = open->second.slots;
      const Model::Slot& slot = slots[(number - 1) % slots.size()];
      right = number < slot.number ? kamino::v1::OUTCOME_SUPERSEDED
              : number == slot.number && !slot.voided
                  ? kamino::v1::OUTCOME_COMMITTED
                  : kamino::v1::OUTCOME_NOT_COMMITTED;
      if (right == kamino::v1::OUTCOME_COMMITTED) sequence = slot.sequence;
    }
    if (read.outcome.outcome() == right && read.outcome.sequence() == sequence)
      return absl::OkStatus();
    return Violation(
        read, absl::StrCat("as of ", read.sequence, " was told ",
                           kamino::v1::Outcome_Name(read.outcome.outcome()),
                           " ", read.outcome.sequence(), " of number ", number,
                           " of session ", read.asks_for->client_id(), ", not ",
                           kamino::v1::Outcome_Name(right), " ", sequence));
  }

  absl::Status CheckAllMet() {
    for (const Record& record : history_) {
      if (record.end != Record::End::kDone || met_[&record]) continue;
      return Violation(
          record, absl::StrCat("was acknowledged as mutation ", record.sequence,
                               " and is lost; the chain has ", log_.size(),
                               " mutations"));
    }
    for (const Record* record : refused_) {
      return Violation(*record,
                       absl::StrCat("refused (", record->status.message(),
                                    "), which never held"));
    }
    return absl::OkStatus();
  }

  const History& history_;
  const CommittedLog& log_;
  const SentRequests& sent_;
  const size_t max_clients_;
  Model* const model_;
  std::map<Name, uint64_t> executed_;  // the mutation's number
  std::map<const Record*, uint64_t> floor_;
  std::map<const Record*, bool> met_;
  std::map<Name, std::vector<const Record*>> by_name_;
  std::map<uint64_t, std::vector<const Record*>> reads_;  // by sequence
  // Refusals that hold in no state so far, by floor.
  std::vector<const Record*> refused_;
};

}  // namespace

absl::Status CheckAgainstLog(const History& history, const CommittedLog& log,
                             const SentRequests& sent, size_t max_clients,
                             Model* model) {
  return Replay(history, log, sent, max_clients, model).Run();
}

}  // namespace kamino::simulation
