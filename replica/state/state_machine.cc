#include "replica/state/state_machine.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/index/btree.h"
#include "glog/logging.h"
#include "replica/errors.h"
#include "replica/state/restore.h"
#include "replica/state/state_format.h"

namespace kamino::replica {
namespace {

using engine::KeyValue;
using engine::KeyValueReader;
using kamino::internal::v1::StoredOutcome;
using state_format::kClientKeyBytes;
using state_format::kStateMagic;
using state_format::StateRoot;

std::string ClientKey(uint64_t client_id) {
  std::string key(kClientKeyBytes, '\0');
  for (size_t i = 0; i < kClientKeyBytes; ++i) {
    key[i] = static_cast<char>(client_id >> (8 * (kClientKeyBytes - 1 - i)));
  }
  return key;
}

uint64_t ClientIdOf(absl::string_view key) {
  uint64_t id = 0;
  for (char c : key) id = id << 8 | static_cast<uint8_t>(c);
  return id;
}

absl::Status NotFormatted() {
  return MakeError(kamino::v1::REASON_RECONFIGURING,
                   "the chain has not begun to serve yet");
}

absl::StatusOr<StoredOutcome> ParseOutcome(uint64_t client_id,
                                           absl::string_view bytes) {
  StoredOutcome outcome;
  if (!outcome.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError(
        absl::StrCat("stored outcome of client ", client_id, " is damaged"));
  }
  return outcome;
}

// All zeros before the chain's first mutation; an error if it is neither that
// nor a state's root.
absl::StatusOr<StateRoot> ReadRoot(engine::Reader& reader,
                                   engine::ObjectId id) {
  ASSIGN_OR_RETURN(auto bytes, reader.Read(id));
  StateRoot root;
  std::memcpy(&root, bytes.data(), sizeof(root));
  if (root.magic != 0 && root.magic != kStateMagic) {
    return absl::DataLossError(
        "the heap's root object is not that of a chain's state, or of another "
        "version");
  }
  return root;
}

absl::StatusOr<RefusedRequests> ReadRefused(engine::Reader& reader,
                                            engine::ObjectId id) {
  ASSIGN_OR_RETURN(auto bytes, reader.Read(id));
  state_format::RefusedRequests kept;
  if (bytes.size() < sizeof(kept)) {
    return absl::DataLossError(
        absl::StrCat("the object of refused requests has ", bytes.size(),
                     " bytes, not ", sizeof(kept)));
  }
  std::memcpy(&kept, bytes.data(), sizeof(kept));
  return RefusedRequests(kept);
}

absl::StatusOr<uint64_t> ReadHorizon(engine::Reader& reader,
                                     engine::ObjectId id) {
  ASSIGN_OR_RETURN(auto bytes, reader.Read(id));
  state_format::EvictionHorizon horizon;
  std::memcpy(&horizon, bytes.data(), sizeof(horizon));
  return horizon.sequence;
}

}  // namespace

absl::StatusOr<StateMachine::Trees> StateMachine::ReadTrees(
    engine::Reader& reader) {
  ASSIGN_OR_RETURN(auto root, ReadRoot(reader, root_));
  if (root.magic == 0) return NotFormatted();
  return Trees{root.objects_root, root.clients_root,  root.horizon,
               root.refused,      root.sessions_root, root.restoring != 0};
}

absl::StatusOr<bool> StateMachine::Formatted(engine::Reader& reader) {
  ASSIGN_OR_RETURN(auto root, ReadRoot(reader, root_));
  return root.magic != 0;
}

absl::StatusOr<StateMachine::Execution> StateMachine::Format(
    engine::Transaction& transaction, uint64_t sequence) {
  ASSIGN_OR_RETURN(const bool formatted, Formatted(transaction));
  if (formatted) {
    return absl::DataLossError(
        absl::StrCat("mutation ", sequence,
                     " is to make the chain's state, but there is one"));
  }
  ASSIGN_OR_RETURN(auto objects, engine::BTree::Create(transaction));
  ASSIGN_OR_RETURN(auto clients, engine::BTree::Create(transaction));
  ASSIGN_OR_RETURN(auto horizon,
                   transaction.Alloc(sizeof(state_format::EvictionHorizon)));
  ASSIGN_OR_RETURN(auto refused,
                   transaction.Alloc(sizeof(state_format::RefusedRequests)));
  ASSIGN_OR_RETURN(auto sessions, engine::BTree::Create(transaction));
  ASSIGN_OR_RETURN(auto bytes,
                   transaction.Write(root_, 0, state_format::kFormattedBytes));
  const StateRoot root{
      .magic = kStateMagic,
      .objects_root = objects,
      .clients_root = clients,
      .horizon = horizon,
      .refused = refused,
      .sessions_root = sessions,
      .restoring = 0,
      .backup_id = {},
  };
  std::memcpy(bytes, &root, state_format::kFormattedBytes);
  return Execution{"", sequence, false};
}

absl::StatusOr<RefusedRequests> StateMachine::Refused(engine::Reader& reader) {
  ASSIGN_OR_RETURN(auto trees, ReadTrees(reader));
  return ReadRefused(reader, trees.refused);
}

absl::StatusOr<StateMachine::Execution> StateMachine::Refuse(
    engine::Transaction& transaction, const MutationView& mutation,
    uint64_t sequence) {
  kamino::internal::v1::RefuseRequest request;
  if (!request.ParseFromArray(mutation.arguments.data(),
                              static_cast<int>(mutation.arguments.size()))) {
    return absl::DataLossError(absl::StrCat(
        "mutation ", sequence, " refuses a request, and does not say which"));
  }
  ASSIGN_OR_RETURN(auto trees, ReadTrees(transaction));
  ASSIGN_OR_RETURN(auto refused, ReadRefused(transaction, trees.refused));
  const RefusedRequests::Changes changes =
      request.client_id() == 0
          ? refused.Clear(request.digest())
          : refused.Add(
                {request.client_id(), request.number(), request.digest()},
                sequence);
  if (changes.empty()) {
    return absl::FailedPreconditionError("no refused request has this digest");
  }
  using state_format::RefusedSlot;
  for (size_t index : changes) {
    ASSIGN_OR_RETURN(auto bytes, transaction.Write(trees.refused,
                                                   index * sizeof(RefusedSlot),
                                                   sizeof(RefusedSlot)));
    std::memcpy(bytes, &refused.slot(index), sizeof(RefusedSlot));
  }
  return Execution{"", sequence, false};
}

absl::StatusOr<StateMachine::Lookup> StateMachine::LookUp(
    engine::Reader& reader, const Trees& trees, uint64_t client_id,
    uint64_t since) {
  KeyValueReader clients(&reader, trees.clients);
  auto entry = clients.Get(ClientKey(client_id));
  if (absl::IsNotFound(entry.status())) {
    ASSIGN_OR_RETURN(auto horizon, ReadHorizon(reader, trees.horizon));
    return Lookup{since < horizon ? Knowledge::kDropped : Knowledge::kNone, {}};
  }
  RETURN_IF_ERROR(entry.status());
  ASSIGN_OR_RETURN(auto outcome, ParseOutcome(client_id, entry->value));
  return Lookup{Knowledge::kStored, std::move(outcome)};
}

absl::StatusOr<std::optional<StateMachine::Execution>>
StateMachine::CheckRepeated(engine::Reader& reader, const Trees& trees,
                            const MutationView& mutation) {
  ASSIGN_OR_RETURN(auto found,
                   LookUp(reader, trees, mutation.client_id, mutation.since));
  if (found.knowledge == Knowledge::kDropped) {
    return MakeError(
        kamino::v1::REASON_CLIENT_EXPIRED,
        absl::StrCat("no outcome is stored for client ", mutation.client_id,
                     ", and one may have been dropped since mutation ",
                     mutation.since,
                     "; begin with a new client id and a newer `since`"));
  }
  if (found.knowledge != Knowledge::kStored) {
    return std::optional<Execution>();
  }
  const StoredOutcome& outcome = found.outcome;
  if (mutation.number > outcome.number()) {
    return std::optional<Execution>();
  }
  if (mutation.number < outcome.number()) {
    return MakeError(
        kamino::v1::REASON_SUPERSEDED,
        absl::StrCat("client ", mutation.client_id, " has committed number ",
                     outcome.number(), " already; number ", mutation.number,
                     " is over"));
  }
  return std::optional<Execution>(
      Execution{outcome.result(), outcome.sequence(), true});
}

absl::Status StateMachine::DropOutcomes(engine::Transaction& transaction,
                                        const Trees& trees,
                                        const MutationView& mutation,
                                        uint64_t sequence) {
  KeyValue clients(&transaction, trees.clients);
  uint64_t highest = 0;
  for (uint64_t expired : mutation.dropped_clients) {
    const std::string key = ClientKey(expired);
    auto entry = clients.Get(key);
    if (absl::IsNotFound(entry.status())) continue;
    RETURN_IF_ERROR(entry.status());
    ASSIGN_OR_RETURN(auto outcome, ParseOutcome(expired, entry->value));
    highest = std::max<uint64_t>(highest, outcome.sequence());
    RETURN_IF_ERROR(clients.Delete(key, sequence));
  }
  if (highest == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(auto horizon, ReadHorizon(transaction, trees.horizon));
  if (highest <= horizon) return absl::OkStatus();
  ASSIGN_OR_RETURN(auto bytes,
                   transaction.Write(trees.horizon, 0,
                                     sizeof(state_format::EvictionHorizon)));
  const state_format::EvictionHorizon moved{highest};
  std::memcpy(bytes, &moved, sizeof(moved));
  return absl::OkStatus();
}

absl::Status StateMachine::StoreOutcome(KeyValue& clients,
                                        const MutationView& mutation,
                                        uint64_t sequence,
                                        const std::string& result) {
  StoredOutcome outcome;
  outcome.set_number(mutation.number);
  outcome.set_sequence(sequence);
  outcome.set_result(result);
  return clients.Put(ClientKey(mutation.client_id), outcome.SerializeAsString(),
                     sequence, state_format::kOutcomeCapacity);
}

absl::StatusOr<std::optional<StateMachine::Execution>> StateMachine::ExecuteOwn(
    engine::Transaction& transaction, const Trees& trees,
    const MutationView& mutation, uint64_t sequence, bool* changed) {
  const absl::string_view arguments = mutation.arguments;
  const auto parse = [&](google::protobuf::Message* request) -> absl::Status {
    *changed = true;
    if (request->ParseFromArray(arguments.data(),
                                static_cast<int>(arguments.size()))) {
      return absl::OkStatus();
    }
    return absl::DataLossError(absl::StrCat("mutation ", sequence, ", ",
                                            mutation.function,
                                            ", does not say which session"));
  };
  Execution execution{"", sequence, false};
  if (mutation.function == kDropFunction) {
    *changed = true;
    RETURN_IF_ERROR(DropOutcomes(transaction, trees, mutation, sequence));
  } else if (mutation.function == kOpenSessionFunction) {
    kamino::internal::v1::OpenSession wanted;
    RETURN_IF_ERROR(parse(&wanted));
    ASSIGN_OR_RETURN(
        execution.sequence,
        sessions_.Open(transaction, trees.sessions, wanted, sequence));
    execution.repeated = execution.sequence != sequence;
  } else if (mutation.function == kCloseSessionsFunction) {
    kamino::internal::v1::CloseSessions request;
    RETURN_IF_ERROR(parse(&request));
    RETURN_IF_ERROR(sessions_.Close(transaction, trees.sessions,
                                    request.session_ids(), sequence));
  } else if (IsOfRestore(mutation.function)) {
    *changed = true;
    Restore restore(&transaction, root_, &summary_);
    ASSIGN_OR_RETURN(auto step, restore.Execute(mutation, sequence));
    execution.result = std::move(step.result);
    execution.repeated = step.repeated;
  } else {
    return std::optional<Execution>();
  }
  return std::optional<Execution>(std::move(execution));
}

absl::StatusOr<std::string> StateMachine::Run(engine::Transaction& transaction,
                                              const Trees& trees,
                                              const MutationView& mutation,
                                              uint64_t sequence, bool* changed,
                                              RequestMeter* meter,
                                              const KeyScope* scope) {
  const Procedure* procedure = procedures_->Find(mutation.function);
  if (procedure == nullptr) {
    return MakeError(
        kamino::v1::REASON_UNKNOWN_PROCEDURE,
        absl::StrCat("no procedure is named ", Printable(mutation.function)));
  }
  MeteredTransaction metered(&transaction, meter);
  KeyValue objects(&metered, trees.objects, &summary_, scope);
  ProcedureContext context(&objects, sequence, meter);
  auto result = (*procedure)(context, mutation.arguments);
  *changed = context.changed();
  RETURN_IF_ERROR(context.damage());
  // Otherwise it would continue differently than on nodes where nothing is
  // denied.
  RETURN_IF_ERROR(context.denied());
  // A procedure that swallows the error has not succeeded.
  if (result.ok() && !meter->status().ok()) return meter->status();
  if ((absl::IsDataLoss(result.status()) ||
       absl::IsPermissionDenied(result.status())) &&
      ReasonOf(result.status()) == kamino::v1::REASON_UNSPECIFIED) {
    // A reason of the procedure's own. Errors of the heap and of access rights
    // are not.
    return WithReason(result.status(), kamino::v1::REASON_PROCEDURE_FAILED);
  }
  RETURN_IF_ERROR(result.status());
  if (result->size() > kMaxResultBytes) {
    return MakeError(kamino::v1::REASON_TOO_LARGE,
                     absl::StrCat("result of ", result->size(),
                                  " bytes; at most ", kMaxResultBytes));
  }
  *changed = true;
  return result;
}

absl::StatusOr<StateMachine::Execution> StateMachine::ExecuteInSession(
    engine::Transaction& transaction, const Trees& trees,
    const MutationView& mutation, uint64_t sequence, bool* changed,
    RequestMeter* meter, const KeyScope* scope) {
  ASSIGN_OR_RETURN(auto place,
                   sessions_.FindPlace(transaction, trees.sessions,
                                       mutation.client_id, mutation.number));
  if (place.taken.has_value()) {
    return Execution{std::move(place.taken->result), place.taken->sequence,
                     /*repeated=*/true, place.taken->voided};
  }
  Sessions::Outcome outcome;
  outcome.sequence = sequence;
  if (mutation.function == kVoidFunction) {
    outcome.voided = *changed = true;
  } else {
    ASSIGN_OR_RETURN(outcome.result, Run(transaction, trees, mutation, sequence,
                                         changed, meter, scope));
  }
  RETURN_IF_ERROR(
      sessions_.Store(transaction, place, mutation.number, outcome));
  return Execution{std::move(outcome.result), sequence, /*repeated=*/false,
                   outcome.voided, Sessions::LongBytes(place.length)};
}

absl::StatusOr<StateMachine::Execution> StateMachine::Execute(
    engine::Transaction& transaction, const MutationView& mutation,
    uint64_t sequence, bool* changed, RequestMeter* meter,
    const KeyScope* scope) {
  if (mutation.function == kFormatFunction) {
    return Format(transaction, sequence);
  }
  if (mutation.client_id == 0 && mutation.function == kRefuseFunction) {
    return Refuse(transaction, mutation, sequence);
  }
  bool ignored = false;
  if (changed == nullptr) changed = &ignored;
  RequestMeter without_limit;
  if (meter == nullptr) meter = &without_limit;
  ASSIGN_OR_RETURN(auto trees, ReadTrees(transaction));
  if (trees.restoring && mutation.client_id != 0) return BeingRestored();
  if (mutation.in_session) {
    return ExecuteInSession(transaction, trees, mutation, sequence, changed,
                            meter, scope);
  }
  if (mutation.client_id == 0) {
    ASSIGN_OR_RETURN(
        auto own, ExecuteOwn(transaction, trees, mutation, sequence, changed));
    if (own.has_value()) return std::move(*own);
  }
  if (mutation.since >= sequence) {
    return SinceIsAhead(mutation.since, sequence - 1);
  }
  ASSIGN_OR_RETURN(auto repeated, CheckRepeated(transaction, trees, mutation));
  if (repeated.has_value()) return std::move(*repeated);
  ASSIGN_OR_RETURN(auto result, Run(transaction, trees, mutation, sequence,
                                    changed, meter, scope));
  RETURN_IF_ERROR(DropOutcomes(transaction, trees, mutation, sequence));
  KeyValue clients(&transaction, trees.clients);
  RETURN_IF_ERROR(StoreOutcome(clients, mutation, sequence, result));
  return Execution{std::move(result), sequence, false};
}

void StateMachine::Ended(bool committed) {
  sessions_.Ended(committed);
  if (committed) {
    summary_.Keep();
  } else {
    summary_.RollBack();
  }
}

absl::StatusOr<bool> StateMachine::Summarize(engine::Reader& reader,
                                             uint64_t objects) {
  if (summarized_) return true;
  ASSIGN_OR_RETURN(auto trees, ReadTrees(reader));
  ASSIGN_OR_RETURN(
      summarized_,
      KeyValueReader(&reader, trees.objects, &summary_).Summarize(objects));
  return summarized_;
}

void StateMachine::Forget() {
  sessions_.Forget();
  summary_.ForgetAll();
  summarized_ = false;
}

absl::Status StateMachine::Replay(engine::Transaction& transaction,
                                  const LogEntry& entry, bool trial) {
  uint64_t sequence = entry.first();
  absl::Status replayed =
      entry.VisitMutations([&](const MutationView& mutation) {
        ASSIGN_OR_RETURN(const auto execution,
                         Execute(transaction, mutation, sequence));
        if (execution.repeated) {
          return absl::DataLossError(
              absl::StrCat("diverged: mutation ", sequence,
                           " has an outcome here that the head did not have"));
        }
        ++sequence;
        return absl::OkStatus();
      });
  Ended(replayed.ok() && !trial);
  return replayed;
}

absl::StatusOr<KeyValueReader> StateMachine::Objects(engine::Reader& reader,
                                                     const KeyScope* scope,
                                                     bool while_restoring) {
  ASSIGN_OR_RETURN(auto trees, ReadTrees(reader));
  if (trees.restoring && !while_restoring) return BeingRestored();
  return KeyValueReader(&reader, trees.objects, /*summary=*/nullptr, scope);
}

absl::StatusOr<StateMachine::Lookup> StateMachine::FindOutcome(
    engine::Reader& reader, uint64_t client_id, uint64_t since) {
  ASSIGN_OR_RETURN(auto trees, ReadTrees(reader));
  return LookUp(reader, trees, client_id, since);
}

absl::StatusOr<uint64_t> StateMachine::EvictionHorizon(engine::Reader& reader) {
  ASSIGN_OR_RETURN(auto trees, ReadTrees(reader));
  return ReadHorizon(reader, trees.horizon);
}

absl::Status StateMachine::VisitClients(
    engine::Reader& reader,
    absl::FunctionRef<bool(uint64_t, const StoredOutcome&)> visit) {
  ASSIGN_OR_RETURN(auto trees, ReadTrees(reader));
  KeyValueReader clients(&reader, trees.clients);
  absl::Status damaged;
  absl::Status scanned = clients.Scan(
      "", "", /*limit=*/0, [&](absl::string_view key, const auto& entry) {
        const uint64_t client_id = ClientIdOf(key);
        auto outcome = ParseOutcome(client_id, entry.value);
        if (!outcome.ok()) {
          damaged = outcome.status();
          return false;
        }
        return visit(client_id, *outcome);
      });
  return scanned.ok() ? damaged : scanned;
}

}  // namespace kamino::replica
