#include "tests/simulation/workload.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "examples/bank/bank_transfer.h"
#include "kamino/v1/kamino.pb.h"
#include "replica/builtins.h"
#include "replica/errors.h"

namespace kamino::simulation {
namespace {

using kamino::v1::CommitRequest;

// Bytes of a value whose delete frees more than its outcome takes.
constexpr size_t kLeastHoarded = 500;

// See Model for its semantics.
absl::StatusOr<std::string> ListsProcedure(replica::ProcedureContext& context,
                                           absl::string_view arguments) {
  std::string result;
  for (absl::string_view step : absl::StrSplit(arguments, ',')) {
    const std::vector<absl::string_view> words = absl::StrSplit(step, ' ');
    auto list = context.Get(words[1]);
    const bool absent =
        replica::ReasonOf(list.status()) == kamino::v1::REASON_KEY_NOT_FOUND;
    if (!list.ok() && !absent) return list.status();
    const std::string old = absent ? "" : std::string(list->value);
    if (words[0] == "r") {
      absl::StrAppend(&result, old, ";");
      continue;
    }
    absl::Status put = context.Put(words[1], absl::StrCat(old, words[2], " "));
    if (!put.ok()) return put;
  }
  return result;
}

Record Mutation(const char* function, std::string arguments) {
  Record record;
  record.request.function = function;
  record.request.arguments = std::move(arguments);
  return record;
}

}  // namespace

// Whether a transfer of one less leaves balances with as many digits.
bool KeepsLengths(replica::ProcedureContext& context,
                  const std::vector<std::string>& words, int amount) {
  const auto same = [&context](const std::string& account, int one, int other) {
    int balance = 0;
    const auto object = context.Get(account);
    return object.ok() && absl::SimpleAtoi(object->value, &balance) &&
           absl::StrCat(balance + one).size() ==
               absl::StrCat(balance + other).size();
  };
  return same(words[0], -amount, 1 - amount) &&
         same(words[1], amount, amount - 1);
}

// Transfers one less than it should, or makes an additional change at which a
// replica stops. kBytes: correctly, where no wrong transfer is possible.
absl::StatusOr<std::string> TransferWrongly(replica::ProcedureContext& context,
                                            absl::string_view arguments,
                                            Slip slip) {
  std::vector<std::string> words = absl::StrSplit(arguments, ' ');
  int amount = 0;
  if (words.size() == 3 && absl::SimpleAtoi(words[2], &amount) && amount > 1 &&
      (slip == Slip::kAny ||
       (slip == Slip::kBytes && KeepsLengths(context, words, amount)))) {
    words[2] = absl::StrCat(amount - 1);
    return examples::BankTransfer(context, absl::StrJoin(words, " "));
  }
  auto result = examples::BankTransfer(context, arguments);
  if (!result.ok() || slip == Slip::kBytes) return result;
  absl::Status put = context.Put(words[0], "wrong");
  if (!put.ok()) return put;
  return result;
}

// "KEY VALUE": a put.
absl::StatusOr<std::string> NewerProcedure(replica::ProcedureContext& context,
                                           absl::string_view arguments) {
  const std::vector<absl::string_view> words = absl::StrSplit(arguments, ' ');
  absl::Status put = context.Put(words[0], words[1]);
  if (!put.ok()) return put;
  return std::string();
}

// "VICTIM KEY VALUE": a put, which ends the processes that `dies` says.
absl::StatusOr<std::string> CrashingProcedure(
    const std::function<bool(absl::string_view)>& dies,
    replica::ProcedureContext& context, absl::string_view arguments) {
  const std::vector<absl::string_view> words = absl::StrSplit(arguments, ' ');
  // Nothing that a process does after its end has an effect.
  if (dies != nullptr) dies(words[0]);
  absl::Status put = context.Put(words[1], words[2]);
  if (!put.ok()) return put;
  return std::string();
}

replica::ProcedureRegistry WorkloadProcedures(
    std::function<Slip()> errs, std::function<bool(absl::string_view)> dies,
    bool newer) {
  replica::ProcedureRegistry registry;
  registry.Register("bank.transfer",
                    [errs = std::move(errs)](replica::ProcedureContext& context,
                                             absl::string_view arguments) {
                      const Slip slip = errs == nullptr ? Slip::kNone : errs();
                      if (slip == Slip::kNone) {
                        return examples::BankTransfer(context, arguments);
                      }
                      return TransferWrongly(context, arguments, slip);
                    });
  registry.Register("test.lists", ListsProcedure);
  registry.Register("test.poison",
                    [dies = std::move(dies)](replica::ProcedureContext& context,
                                             absl::string_view arguments) {
                      return CrashingProcedure(dies, context, arguments);
                    });
  if (newer) registry.Register(kNewer, NewerProcedure);
  return registry;
}

std::string Workload::Name(const char* prefix, int count) {
  return absl::StrCat(prefix, random_.Pick(count));
}

// Unique, and of varying length, so that values grow and shrink.
std::string Workload::Value() {
  std::string value = absl::StrCat("v", next_value_++, "-");
  value.append(random_.OneIn(8) ? random_.Pick(400) : random_.Pick(40), '.');
  return value;
}

std::vector<std::string> Workload::AccountKeys() const {
  std::vector<std::string> keys;
  for (int i = 0; i < options_.accounts; ++i) {
    keys.push_back(absl::StrCat("a", i));
  }
  return keys;
}

std::vector<std::string> Workload::ColdValues() const {
  std::vector<std::string> values;
  for (int i = 0; i < options_.cold; ++i) {
    values.push_back(absl::StrCat("cold", i, "-", std::string(120, 'z')));
  }
  return values;
}

std::vector<std::string> Workload::ListKeys() const {
  std::vector<std::string> keys;
  for (int i = 0; i < options_.lists; ++i) {
    keys.push_back(absl::StrCat("l", i));
  }
  return keys;
}

std::vector<std::string> Workload::ColdKeys() const {
  std::vector<std::string> keys;
  for (int i = 0; i < options_.cold; ++i) keys.push_back(absl::StrCat("z", i));
  return keys;
}

Record Workload::Setup() const {
  CommitRequest commit;
  for (const std::string& key : AccountKeys()) {
    auto* put = commit.add_then_operations()->mutable_put();
    put->set_key(key);
    put->set_value(absl::StrCat(kBalance));
  }
  const std::vector<std::string> cold = ColdValues();
  const std::vector<std::string> cold_keys = ColdKeys();
  for (size_t i = 0; i < cold.size(); ++i) {
    auto* put = commit.add_then_operations()->mutable_put();
    put->set_key(cold_keys[i]);
    put->set_value(cold[i]);
  }
  return Mutation(replica::kCommitFunction, commit.SerializeAsString());
}

void Workload::AddCrashing(absl::string_view victim) {
  added_.push_back(Mutation(
      "test.poison", absl::StrCat(victim, " ", Register(), " ", Value())));
}

Record Workload::Next(const Versions& versions) {
  if (!added_.empty()) {
    Record record = std::move(added_.front());
    added_.pop_front();
    return record;
  }
  if (options_.ballast_bytes > 0 && random_.OneIn(6)) return Ballast();
  if (options_.hoard_percent > 0 && random_.Percent(options_.hoard_percent)) {
    return Hoard();
  }
  if (random_.Percent(options_.conditional_percent)) return Conditional();
  if (random_.Percent(options_.newer_percent)) return Newer();
  switch (random_.Pick(22)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
      return Read();
    case 6:
    case 7:
      return Put();
    case 8:
      return Patch();
    case 9:
      return Delete();
    case 10:
    case 11:
    case 12:
      return Commit();
    case 13:
    case 14:
    case 15:
      return Transfer();
    case 16:
    case 17:
      return versions.empty() ? Put() : CompareVersion(versions);
    default:
      return Lists();
  }
}

Record Workload::Newer() {
  return Mutation(kNewer, absl::StrCat(Register(), " ", Value()));
}

Record Workload::Read() {
  Record record;
  record.is_read = true;
  switch (random_.Pick(3)) {
    case 0:
      record.keys = AccountKeys();
      break;
    case 1:
      record.keys = ListKeys();
      break;
    default:
      record.keys = {Register(), Register(), Name("l", options_.lists)};
  }
  return record;
}

Record Workload::Put() {
  kamino::v1::PutRequest put;
  put.set_key(Register());
  put.set_value(Value());
  return Mutation(replica::kPutFunction, put.SerializeAsString());
}

Record Workload::Patch() {
  kamino::v1::PatchRequest patch;
  patch.set_key(Register());
  patch.set_offset(random_.Pick(6));
  patch.set_data(absl::StrCat(next_value_++));
  return Mutation(replica::kPatchFunction, patch.SerializeAsString());
}

Record Workload::Delete() {
  kamino::v1::DeleteRequest del;
  del.set_key(Register());
  return Mutation(replica::kDeleteFunction, del.SerializeAsString());
}

Record Workload::Commit() {
  CommitRequest commit;
  if (random_.OneIn(2)) {
    auto* condition = commit.add_preconditions();
    condition->set_key(Register());
    condition->set_exists(random_.OneIn(2));
  }
  commit.set_fail_on_conflict(random_.OneIn(2));
  const uint64_t count = 1 + random_.Pick(4);
  for (uint64_t i = 0; i < count; ++i) {
    auto* operation = commit.add_then_operations();
    switch (random_.Pick(3)) {
      case 0:
        operation->mutable_get()->set_key(Register());
        break;
      case 1:
        operation->mutable_delete_()->set_key(Register());
        operation->mutable_delete_()->set_allow_absent(!random_.OneIn(4));
        break;
      default:
        operation->mutable_put()->set_key(Register());
        operation->mutable_put()->set_value(Value());
    }
  }
  if (random_.OneIn(3)) {
    commit.add_else_operations()->mutable_get()->set_key(Register());
  }
  return Mutation(replica::kCommitFunction, commit.SerializeAsString());
}

// An optimistic update: writes if no other client has written since.
Record Workload::CompareVersion(const Versions& versions) {
  auto known = versions.begin();
  std::advance(known, random_.Pick(versions.size()));
  CommitRequest commit;
  if (random_.OneIn(4)) return CompareRange(known->first, versions);
  auto* condition = commit.add_preconditions();
  condition->set_key(known->first);
  condition->set_version_equals(known->second);
  commit.set_fail_on_conflict(random_.OneIn(2));
  commit.add_then_operations()->mutable_get()->set_key(known->first);
  auto* put = commit.add_then_operations()->mutable_put();
  put->set_key(known->first);
  put->set_value(Value());
  return Mutation(replica::kCommitFunction, commit.SerializeAsString());
}

// The same for a range, since the client saw it last.
Record Workload::CompareRange(const std::string& key,
                              const Versions& versions) {
  CommitRequest commit;
  auto* range = commit.add_preconditions()->mutable_range_unchanged();
  if (random_.OneIn(2)) range->set_start_key(Register());
  if (random_.OneIn(2)) range->set_end_key("s");
  uint64_t newest = 0;
  for (const auto& [other, version] : versions) {
    newest = std::max(newest, version);
  }
  range->set_sequence(newest);
  commit.set_fail_on_conflict(random_.OneIn(2));
  auto* put = commit.add_then_operations()->mutable_put();
  put->set_key(key);
  put->set_value(Value());
  return Mutation(replica::kCommitFunction, commit.SerializeAsString());
}

Record Workload::Transfer() {
  const uint64_t from = random_.Pick(options_.accounts);
  const uint64_t to =
      (from + 1 + random_.Pick(options_.accounts - 1)) % options_.accounts;
  return Mutation("bank.transfer",
                  absl::StrCat("a", from, " a", to, " ", 1 + random_.Pick(60)));
}

Record Workload::Lists() {
  std::string arguments;
  std::set<uint64_t> appended;
  const uint64_t count = 1 + random_.Pick(4);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t list = random_.Pick(options_.lists);
    if (i > 0) arguments += ",";
    // Appends once to each list, so that elements tell transactions apart.
    if (random_.OneIn(3) || !appended.insert(list).second) {
      absl::StrAppend(&arguments, "r l", list);
    } else {
      absl::StrAppend(&arguments, "a l", list, " ", next_value_++);
    }
  }
  return Mutation("test.lists", arguments);
}

Record Workload::Conditional() {
  // One of a few keys, so that objects are made and deleted all the time.
  const std::string key = Name("r", 2);
  CommitRequest commit;
  if (random_.OneIn(3)) {
    auto* operation = commit.add_then_operations();
    if (random_.OneIn(2)) {
      operation->mutable_put()->set_key(key);
      operation->mutable_put()->set_value(Value());
    } else {
      operation->mutable_delete_()->set_key(key);
      operation->mutable_delete_()->set_allow_absent(true);
    }
  } else {
    auto* condition = commit.add_preconditions();
    condition->set_key(key);
    condition->set_exists(random_.OneIn(2));
    commit.set_fail_on_conflict(true);
    commit.add_then_operations()->mutable_get()->set_key(Register());
  }
  return Mutation(replica::kCommitFunction, commit.SerializeAsString());
}

Record Workload::PutOrDelete(const std::string& key, size_t least, size_t span,
                             char byte) {
  if (random_.OneIn(3)) {
    kamino::v1::DeleteRequest del;
    del.set_key(key);
    return Mutation(replica::kDeleteFunction, del.SerializeAsString());
  }
  kamino::v1::PutRequest put;
  put.set_key(key);
  put.set_value(std::string(least + random_.Pick(span), byte));
  return Mutation(replica::kPutFunction, put.SerializeAsString());
}

Record Workload::Ballast() {
  return PutOrDelete(Name("b", 12), options_.ballast_bytes / 2,
                     options_.ballast_bytes, 'b');
}

Record Workload::Hoard() {
  return PutOrDelete(Name("h", 200), kLeastHoarded, 3500, 'h');
}

bool Workload::FreesRoom(const replica::Mutation& request) {
  kamino::v1::DeleteRequest del;
  return request.function == replica::kDeleteFunction &&
         del.ParseFromString(request.arguments) &&
         absl::StartsWith(del.key(), "h");
}

}  // namespace kamino::simulation
