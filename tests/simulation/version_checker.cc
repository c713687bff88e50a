#include "tests/simulation/version_checker.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kamino/v1/kamino.pb.h"
#include "replica/builtins.h"

namespace kamino::simulation {
namespace {

using kamino::v1::CommitRequest;
using kamino::v1::CommitResponse;

// The objects that a commit saw, and those that it left behind.
std::vector<VersionedValue> InCommit(const Record& record) {
  CommitRequest request;
  CommitResponse response;
  if (!request.ParseFromString(record.request.arguments) ||
      !response.ParseFromString(record.result)) {
    return {};
  }
  const auto& operations = response.succeeded() ? request.then_operations()
                                                : request.else_operations();
  std::vector<VersionedValue> told;
  std::map<std::string, std::string> written;
  for (int i = 0; i < operations.size(); ++i) {
    const kamino::v1::Operation& operation = operations[i];
    if (operation.has_put()) {
      written[operation.put().key()] = operation.put().value();
    } else if (operation.has_delete_()) {
      written.erase(operation.delete_().key());
    } else if (operation.has_patch()) {
      written.erase(operation.patch().key());
    } else if (i < response.results_size() && response.results(i).found() &&
               response.results(i).version() != record.sequence) {
      const auto& seen = response.results(i);
      told.push_back({seen.key(), seen.value(), seen.version()});
    }
  }
  for (const auto& [key, value] : written) {
    told.push_back({key, value, record.sequence});
  }
  return told;
}

absl::Status Violation(const Record& record, const std::string& what) {
  return absl::DataLossError(
      absl::StrCat("by the client's word: ",
                   record.is_read ? "read" : record.request.function, " ",
                   record.id, " of ", record.client, ": ", what));
}

// The first Get in a commit whose version condition holds: the commit wrote
// nothing before it.
absl::Status CheckCondition(const Record& record) {
  CommitRequest request;
  CommitResponse response;
  if (record.request.function != replica::kCommitFunction ||
      !request.ParseFromString(record.request.arguments) ||
      !response.ParseFromString(record.result) || !response.succeeded() ||
      request.then_operations().empty() ||
      !request.then_operations(0).has_get()) {
    return absl::OkStatus();
  }
  const kamino::v1::ReadResult& seen = response.results(0);
  for (const auto& condition : request.preconditions()) {
    if (!condition.has_version_equals() || condition.key() != seen.key() ||
        (seen.found() && seen.version() == condition.version_equals())) {
      continue;
    }
    return Violation(
        record,
        absl::StrCat(seen.key(), " at version ", condition.version_equals(),
                     " was asked for, and found at ", seen.version()));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<VersionedValue> VersionsIn(const Record& record) {
  std::vector<VersionedValue> told;
  if (record.end != Record::End::kDone) return told;
  if (record.is_read) {
    for (const ReadValue& read : record.values) {
      if (read.found) told.push_back({read.key, read.value, read.version});
    }
  } else if (record.request.function == replica::kPutFunction) {
    kamino::v1::PutRequest put;
    if (put.ParseFromString(record.request.arguments)) {
      told.push_back({put.key(), put.value(), record.sequence});
    }
  } else if (record.request.function == replica::kCommitFunction) {
    return InCommit(record);
  }
  return told;
}

absl::Status CheckVersions(const History& history) {
  std::map<uint64_t, const Record*> mutations;
  std::map<std::pair<std::string, uint64_t>,
           std::pair<std::string, const Record*>>
      values;
  for (const Record& record : history) {
    if (record.end != Record::End::kDone || record.repeats) continue;
    if (!record.is_read) {
      const auto [other, added] = mutations.insert({record.sequence, &record});
      if (!added) {
        return Violation(
            record,
            absl::StrCat("was told number ", record.sequence, ", as was ",
                         other->second->id, " of ", other->second->client));
      }
      absl::Status held = CheckCondition(record);
      if (!held.ok()) return held;
    }
    for (VersionedValue& told : VersionsIn(record)) {
      const auto [other, added] =
          values.insert({{told.key, told.version}, {told.value, &record}});
      if (added || other->second.first == told.value) continue;
      return Violation(
          record, absl::StrCat(told.key, " at version ", told.version, " is \"",
                               told.value, "\", but \"", other->second.first,
                               "\" for ", other->second.second->id, " of ",
                               other->second.second->client));
    }
  }
  return absl::OkStatus();
}

}  // namespace kamino::simulation
