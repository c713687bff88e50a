#include "tests/simulation/model.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kamino/internal/v1/operation.pb.h"

namespace kamino::simulation {
namespace {

using kamino::v1::CommitRequest;
using kamino::v1::CommitResponse;
using kamino::v1::Operation;
using kamino::v1::Precondition;
using kamino::v1::Reason;
using replica::MutationView;

using Objects = std::map<std::string, Model::Object>;

// The changes of one execution: absent values are deletions.
class Changes {
 public:
  Changes(const Objects& objects, uint64_t deleted, uint64_t sequence)
      : objects_(objects), deleted_(deleted), sequence_(sequence) {}

  const Model::Object* Get(const std::string& key) const {
    const auto changed = changed_.find(key);
    if (changed != changed_.end()) {
      return changed->second.has_value() ? &*changed->second : nullptr;
    }
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : &found->second;
  }
  void Put(const std::string& key, std::string value) {
    changed_[key] = Model::Object{std::move(value), sequence_};
  }
  void Delete(const std::string& key) {
    changed_[key] = std::nullopt;
    deleted_ = sequence_;
  }
  // Looks at the state before the commit only.
  bool RangeUnchanged(const kamino::v1::RangeUnchanged& range) const {
    // All keys are neighbours of each other: one page holds them.
    if (deleted_ > range.sequence()) return false;
    for (auto it = objects_.lower_bound(range.start_key());
         it != objects_.end() &&
         (range.end_key().empty() || it->first < range.end_key());
         ++it) {
      if (it->second.version > range.sequence()) return false;
    }
    return true;
  }

  void MakeIn(Objects* objects, uint64_t* deleted) {
    *deleted = deleted_;
    for (auto& [key, object] : changed_) {
      if (object.has_value()) {
        (*objects)[key] = std::move(*object);
      } else {
        objects->erase(key);
      }
    }
  }

 private:
  const Objects& objects_;
  uint64_t deleted_;
  const uint64_t sequence_;
  std::map<std::string, std::optional<Model::Object>> changed_;
};

Model::Outcome Refuse(Reason reason) {
  Model::Outcome outcome;
  outcome.refused = reason;
  return outcome;
}

Model::Outcome Result(std::string result) {
  Model::Outcome outcome;
  outcome.result = std::move(result);
  return outcome;
}

Reason Apply(const Operation& operation, Changes* changes,
             kamino::v1::ReadResult* result) {
  if (operation.has_put()) {
    changes->Put(operation.put().key(), operation.put().value());
  } else if (operation.has_patch()) {
    const auto& patch = operation.patch();
    const Model::Object* object = changes->Get(patch.key());
    if (object == nullptr) return kamino::v1::REASON_KEY_NOT_FOUND;
    std::string value = object->value;
    if (patch.offset() + patch.data().size() > value.size()) {
      return kamino::v1::REASON_OUT_OF_RANGE;
    }
    value.replace(patch.offset(), patch.data().size(), patch.data());
    changes->Put(patch.key(), std::move(value));
  } else if (operation.has_delete_()) {
    const auto& del = operation.delete_();
    if (changes->Get(del.key()) != nullptr) {
      changes->Delete(del.key());
    } else if (!del.allow_absent()) {
      return kamino::v1::REASON_KEY_NOT_FOUND;
    }
  } else {
    result->set_key(operation.get().key());
    const Model::Object* object = changes->Get(operation.get().key());
    if (object != nullptr) {
      result->set_found(true);
      result->set_value(object->value);
      result->set_version(object->version);
    }
  }
  return kamino::v1::REASON_UNSPECIFIED;
}

bool Holds(const Precondition& condition, const Changes& changes) {
  if (condition.has_range_unchanged()) {
    return changes.RangeUnchanged(condition.range_unchanged());
  }
  const Model::Object* object = changes.Get(condition.key());
  switch (condition.condition_case()) {
    case Precondition::kExists:
      return condition.exists() == (object != nullptr);
    case Precondition::kVersionEquals:
      return object != nullptr && object->version == condition.version_equals();
    case Precondition::kValueEquals:
      return object != nullptr && object->value == condition.value_equals();
    default:
      return false;  // not used by the workload
  }
}

Model::Outcome Commit(const std::string& arguments, Changes* changes) {
  CommitRequest request;
  request.ParseFromString(arguments);
  CommitResponse response;
  for (const Precondition& condition : request.preconditions()) {
    if (!Holds(condition, *changes)) {
      response.add_failed_keys(condition.has_range_unchanged()
                                   ? condition.range_unchanged().start_key()
                                   : condition.key());
    }
  }
  response.set_succeeded(response.failed_keys().empty());
  const auto& operations = response.succeeded() ? request.then_operations()
                                                : request.else_operations();
  if (!response.succeeded() && operations.empty() &&
      request.fail_on_conflict()) {
    return Refuse(kamino::v1::REASON_CONFLICT);
  }
  for (const Operation& operation : operations) {
    const Reason refused = Apply(operation, changes, response.add_results());
    if (refused != kamino::v1::REASON_UNSPECIFIED) return Refuse(refused);
  }
  return Result(response.SerializeAsString());
}

Model::Outcome Transfer(const std::string& arguments, Changes* changes) {
  const std::vector<std::string> parts = absl::StrSplit(arguments, ' ');
  int64_t balance[2];
  for (int i : {0, 1}) {
    const Model::Object* account = changes->Get(parts[i]);
    if (account == nullptr) return Refuse(kamino::v1::REASON_KEY_NOT_FOUND);
    (void)absl::SimpleAtoi(account->value, &balance[i]);
  }
  int64_t amount = 0;
  (void)absl::SimpleAtoi(parts[2], &amount);
  if (balance[0] < amount) return Refuse(kamino::v1::REASON_PROCEDURE_FAILED);
  changes->Put(parts[0], absl::StrCat(balance[0] - amount));
  changes->Put(parts[1], absl::StrCat(balance[1] + amount));
  return Result(absl::StrCat(balance[0] - amount, " ", balance[1] + amount));
}

// "r KEY" and "a KEY ELEMENT", separated by commas; the result are the lists
// that were read, each ended by a semicolon.
Model::Outcome Lists(const std::string& arguments, Changes* changes) {
  std::string result;
  for (absl::string_view step : absl::StrSplit(arguments, ',')) {
    const std::vector<std::string> words = absl::StrSplit(step, ' ');
    const Model::Object* list = changes->Get(words[1]);
    const std::string old = list == nullptr ? "" : list->value;
    if (words[0] == "r") {
      absl::StrAppend(&result, old, ";");
    } else {
      changes->Put(words[1], absl::StrCat(old, words[2], " "));
    }
  }
  return Result(std::move(result));
}

// "VICTIM KEY VALUE"
Model::Outcome CrashingPut(const std::string& arguments, Changes* changes) {
  const std::vector<std::string> words = absl::StrSplit(arguments, ' ');
  changes->Put(words[1], words[2]);
  return Result("");
}

// "KEY VALUE"
Model::Outcome Newer(const std::string& arguments, Changes* changes) {
  const std::vector<std::string> words = absl::StrSplit(arguments, ' ');
  changes->Put(words[0], words[1]);
  return Result("");
}

template <typename Message>
Message Parsed(const std::string& arguments) {
  Message message;
  message.ParseFromString(arguments);
  return message;
}

Model::Outcome Single(absl::string_view function, const std::string& arguments,
                      Changes* changes) {
  Operation operation;
  if (function == "kv.put") {
    const auto put = Parsed<kamino::v1::PutRequest>(arguments);
    operation.mutable_put()->set_key(put.key());
    operation.mutable_put()->set_value(put.value());
  } else if (function == "kv.patch") {
    const auto patch = Parsed<kamino::v1::PatchRequest>(arguments);
    operation.mutable_patch()->set_key(patch.key());
    operation.mutable_patch()->set_offset(patch.offset());
    operation.mutable_patch()->set_data(patch.data());
  } else {
    const auto del = Parsed<kamino::v1::DeleteRequest>(arguments);
    operation.mutable_delete_()->set_key(del.key());
  }
  kamino::v1::ReadResult unused;
  const Reason refused = Apply(operation, changes, &unused);
  return refused == kamino::v1::REASON_UNSPECIFIED ? Result("")
                                                   : Refuse(refused);
}

Model::Outcome Run(const MutationView& request, Changes* changes) {
  const absl::string_view function = request.function;
  const std::string arguments(request.arguments);
  if (function == "kamino.void") return Result("");
  if (function == "kv.commit") return Commit(arguments, changes);
  if (function == "bank.transfer") return Transfer(arguments, changes);
  if (function == "test.lists") return Lists(arguments, changes);
  if (function == "test.poison") return CrashingPut(arguments, changes);
  if (function == "test.newer") return Newer(arguments, changes);
  return Single(function, arguments, changes);
}

}  // namespace

// A session's request number n uses slot (n - 1) mod W, and must follow the
// slot's last one by W.
Model::Outcome Model::CheckSlot(const MutationView& request) const {
  const auto session = sessions_.find(request.client_id);
  if (session == sessions_.end() || session->second.epoch < epoch_) {
    return Refuse(kamino::v1::REASON_SESSION_EXPIRED);
  }
  if (request.number == 0) return Refuse(kamino::v1::REASON_INVALID_ARGUMENT);
  const std::vector<Slot>& slots = session->second.slots;
  const size_t index = (request.number - 1) % slots.size();
  const Slot& slot = slots[index];
  if (request.number == slot.number) {
    Outcome outcome = Result(slot.result);
    outcome.repeated = true;
    if (slot.voided && request.function != "kamino.void") {
      outcome.refused = kamino::v1::REASON_SUPERSEDED;
    }
    return outcome;
  }
  const uint64_t next =
      slot.number == 0 ? index + 1 : slot.number + slots.size();
  if (request.number == next) return Result("");
  return Refuse(request.number < next ? kamino::v1::REASON_SUPERSEDED
                                      : kamino::v1::REASON_INVALID_ARGUMENT);
}

Model::Outcome Model::Open(const std::string& arguments, uint64_t sequence) {
  const auto wanted = Parsed<kamino::internal::v1::OpenSession>(arguments);
  const uint64_t id = wanted.session_id();
  // A client that opens it a second time was not told of the first, and so has
  // not used it: otherwise its numbers would be executed again.
  if (sessions_.count(id) > 0 || used_before_.count(id) > 0) {
    return Refuse(kamino::v1::REASON_SESSION_EXPIRED);
  }
  epoch_ = std::max(epoch_, wanted.epoch());
  sessions_[id] = {wanted.epoch(), sequence,
                   std::vector<Slot>(wanted.window())};
  return Outcome();
}

Model::Outcome Model::Close(const std::string& arguments) {
  const auto closed = Parsed<kamino::internal::v1::CloseSessions>(arguments);
  bool any = false;
  for (uint64_t id : closed.session_ids()) {
    const auto session = sessions_.find(id);
    if (session == sessions_.end()) continue;
    any = true;
    for (const Slot& slot : session->second.slots) {
      if (slot.number != 0) used_before_.insert(id);
    }
    sessions_.erase(session);
  }
  return any ? Outcome() : Refuse(kamino::v1::REASON_SESSION_EXPIRED);
}

Model::Outcome Model::CheckName(const MutationView& request) const {
  if (request.in_session) return CheckSlot(request);
  const auto client = clients_.find(request.client_id);
  if (client == clients_.end()) {
    return request.since >= horizon_
               ? Result("")
               : Refuse(kamino::v1::REASON_CLIENT_EXPIRED);
  }
  if (request.number < client->second.number) {
    return Refuse(kamino::v1::REASON_SUPERSEDED);
  }
  Outcome outcome;
  outcome.repeated = request.number == client->second.number;
  if (outcome.repeated) outcome.result = client->second.result;
  return outcome;
}

void Model::Drop(const std::vector<uint64_t>& clients) {
  for (uint64_t expired : clients) {
    const auto dropped = clients_.find(expired);
    if (dropped == clients_.end()) continue;
    horizon_ = std::max(horizon_, dropped->second.sequence);
    clients_.erase(dropped);
  }
}

Model::Outcome Model::Execute(const MutationView& request, uint64_t sequence) {
  // The head's own request: no client sees its effects.
  if (request.function == "kamino.format" ||
      request.function == "kamino.refuse") {
    return Outcome();
  }
  // Likewise, except for the clients whose outcomes it drops.
  if (request.function == "kamino.drop") {
    Drop(request.dropped_clients);
    return Outcome();
  }
  if (request.function == "kamino.open_session") {
    return Open(std::string(request.arguments), sequence);
  }
  if (request.function == "kamino.close_sessions") {
    return Close(std::string(request.arguments));
  }
  Outcome outcome = CheckName(request);
  if (!outcome.ok() || outcome.repeated) return outcome;
  Changes changes(objects_, deleted_, sequence);
  outcome = Run(request, &changes);
  if (!outcome.ok()) return outcome;
  changes.MakeIn(&objects_, &deleted_);
  if (request.in_session) {
    std::vector<Slot>& slots = sessions_[request.client_id].slots;
    slots[(request.number - 1) % slots.size()] = {
        request.number, sequence, outcome.result,
        request.function == "kamino.void"};
    return outcome;
  }
  Drop(request.dropped_clients);
  clients_[request.client_id] =
      Client{request.number, sequence, outcome.result};
  return outcome;
}

Model::Outcome Model::Try(const MutationView& request) const {
  Outcome outcome = CheckName(request);
  if (!outcome.ok() || outcome.repeated) return outcome;
  Changes changes(objects_, deleted_, 0);
  return Run(request, &changes);
}

}  // namespace kamino::simulation
