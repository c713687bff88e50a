// The outcome of a client's mutations in its session, one by one.
#include <utility>

#include "client/error.h"
#include "client/retry.h"
#include "node/request_checks.h"
#include "replica/builtins.h"
#include "replica/state/state_machine.h"
#include "tests/simulation/session_client.h"
#include "tests/simulation/version_checker.h"

namespace kamino::simulation {

using client::Connection;
using replica::Mutation;
using session::Method;

namespace {

constexpr absl::Duration kAttemptTimeout = absl::Milliseconds(250);
constexpr absl::Duration kPause = absl::Milliseconds(20);  // before a retry
constexpr size_t kRemembered = 16;

// The method of a mutation on a connection.
Method MethodOf(const Mutation& request) {
  static const auto* const methods = new std::map<std::string, Method>{
      {replica::kPutFunction, Method::kPut},
      {replica::kPatchFunction, Method::kPatch},
      {replica::kDeleteFunction, Method::kDelete},
      {replica::kCommitFunction, Method::kCommit},
      {replica::kVoidFunction, Method::kVoid},
  };
  const auto found = methods->find(request.function);
  return found == methods->end() ? Method::kCall : found->second;
}

std::string BodyOf(const Mutation& request) {
  if (MethodOf(request) != Method::kCall) return request.arguments;
  kamino::v1::CallRequest call;
  call.set_procedure(request.function);
  call.set_arguments(request.arguments);
  return call.SerializeAsString();
}

}  // namespace

SessionClient::CallAnswer SessionClient::ReadAnswer(
    const Mutation& request, const Connection::Answer& told) {
  CallAnswer answer{told.status, told.sequence, std::string(told.body)};
  if (!told.status.ok()) return answer;
  const std::string body(told.body);
  bool parsed = true;
  if (MethodOf(request) == Method::kCall) {
    kamino::v1::CallResponse response;
    parsed = response.ParseFromString(body);
    answer.result = response.result();
  } else if (MethodOf(request) == Method::kVoid) {
    kamino::v1::VoidResponse response;
    parsed = response.ParseFromString(body);
    answer.result = response.result();
    answer.voided = !response.executed();
  }
  if (!parsed) {
    world()->Fail(absl::DataLossError(
        absl::StrCat("the answer to ", request.function, " cannot be read")));
  }
  return answer;
}

Mutation SessionClient::RequestOf(const Operation& operation) const {
  Mutation request = operation.record->request;
  if (operation.phase == Phase::kVoid) {
    request.function = replica::kVoidFunction;
    request.arguments.clear();
  }
  return request;
}

void SessionClient::Attempt(uint64_t id) {
  Operation& operation = operations_.at(id);
  if (silent_) return;  // it continues later
  operation.attempt = ++attempts_;
  ++operation.tries;
  operation.sent = world()->now();
  const Mutation request = RequestOf(operation);
  const auto answered =
      [this, id, attempt = operation.attempt](const CallAnswer& answer) {
        OnAnswer(id, attempt, answer);
      };
  if (chain_ != nullptr && random_.Percent(options_.unary_percent)) {
    NoteSent(request);
    const bool astray = random_.Percent(options_.astray_percent);
    CallNode(astray ? AnyNode() : Head(), request, answered);
    return After(kAttemptTimeout, [answered] {
      answered({absl::DeadlineExceededError("no answer"), 0, ""});
    });
  }
  const bool sent =
      connection_ != nullptr &&
      connection_->Send(
          MethodOf(request), request.number, kAttemptTimeout, BodyOf(request),
          [this, request, answered](const Connection::Answer& answer) {
            answered(ReadAnswer(request, answer));
          });
  if (sent) return NoteSent(request);
  Connect();
  Retry(id, kPause);
}

void SessionClient::CallNode(SimNode* node, const Mutation& request,
                             std::function<void(const CallAnswer&)> done) {
  const auto reply = [this, node, life = life(), request,
                      done = std::move(done)](NodeAnswer answer) {
    at_.network->Send(node, this,
                      [this, life, request, done, answer = std::move(answer)] {
                        if (life != this->life()) return;
                        if (answer.chain != nullptr) Learn(*answer.chain);
                        CallAnswer told{answer.status, answer.sequence,
                                        answer.result, answer.voided};
                        // As the service tells it.
                        if (told.status.ok() && told.voided &&
                            request.function != replica::kVoidFunction) {
                          told.status = node::WasVoided();
                        }
                        done(told);
                      });
  };
  at_.network->Send(this, node, [node, request, reply] {
    node->Mutate(request, kAttemptTimeout, reply);
  });
}

void SessionClient::OnAnswer(uint64_t id, uint64_t attempt,
                             const CallAnswer& answer) {
  const auto found = operations_.find(id);
  if (found == operations_.end() || found->second.attempt != attempt) return;
  Operation& operation = found->second;
  operation.attempt = 0;
  if (answer.status.ok()) {
    at_.session_records->Answered(operation.lane.client_id, operation.sent);
    if (operation.phase == Phase::kVoid && answer.voided) {
      world()->tally().Count(Kind::kVoided);
      operation.record->status = operation.refusal;
      return Finish(id, Record::End::kRefused);
    }
    operation.record->result = answer.result;
    operation.record->sequence = answer.sequence;
    return Finish(id, Record::End::kDone);
  }
  Learn(client::DetailOf(answer.status).chain());
  const client::Decision decision = client::DecideAfter(
      answer.status, operation.tries, random_.Pick(1000) / 1000.0);
  operation.outcome_unknown |= decision.outcome_unknown;
  if (!decision.retry) return OnRefused(id, answer.status);
  if (operation.outcome_unknown && operation.phase == Phase::kAsk) {
    if (random_.Percent(options_.abandon_percent)) {
      Trace("gives up on ", id);
      return Finish(id, Record::End::kUnknown);
    }
    if (random_.Percent(options_.settle_percent)) {
      Trace("voids ", id);
      operation.refusal = absl::CancelledError("voided");
      operation.phase = Phase::kVoid;
    }
  }
  if (decision.refresh) Refresh();
  Retry(id, std::min(decision.delay, 3 * kPause));
}

void SessionClient::OnRefused(uint64_t id, const absl::Status& status) {
  Operation& operation = operations_.at(id);
  const bool expired =
      client::ReasonOf(status) == kamino::v1::REASON_SESSION_EXPIRED;
  if (operation.phase == Phase::kAsk && !operation.outcome_unknown) {
    operation.record->status = status;
    Finish(id, Record::End::kRefused);
    if (expired) OnExpired();
    return;
  }
  if (expired) return OnExpired();
  if (operation.phase == Phase::kVoid) return Finish(id, Record::End::kUnknown);
  operation.refusal = status;
  operation.phase = Phase::kVoid;
  Retry(id, absl::ZeroDuration());
}

void SessionClient::Retry(uint64_t id, absl::Duration delay) {
  Operation& operation = operations_.at(id);
  operation.attempt = ++attempts_;
  After(delay, [this, id, attempt = operation.attempt] {
    const auto found = operations_.find(id);
    if (found == operations_.end() || found->second.attempt != attempt) return;
    Attempt(id);
  });
}

void SessionClient::Finish(uint64_t id, Record::End end) {
  const Operation operation = std::move(operations_.extract(id).mapped());
  Record* const record = operation.record;
  record->end = end;
  record->newest_at_return = at_.log->newest();
  if (end != Record::End::kUnknown) record->returned = world()->now();
  const bool voided =
      end == Record::End::kRefused && operation.phase == Phase::kVoid;
  const bool spoilt = !voided && client::ReasonOf(record->status) ==
                                     kamino::v1::REASON_SUPERSEDED;
  if (end == Record::End::kUnknown || spoilt) {
    ++given_up_;
    lanes_->GiveUp(operation.lane);
  } else {
    lanes_->Release(operation.lane, end == Record::End::kDone || voided);
  }
  if (end == Record::End::kDone) {
    for (const VersionedValue& seen : VersionsIn(*record)) {
      if (seen.key[0] == 'r') versions_[seen.key] = seen.version;
    }
  }
  if (end != Record::End::kRefused || voided) {
    kamino::v1::RequestId name;
    name.set_client_id(operation.lane.client_id);
    name.set_number(operation.lane.number);
    name.set_in_session(true);
    sent_before_.push_back(std::move(name));
    if (sent_before_.size() > kRemembered) sent_before_.pop_front();
    if (random_.Percent(options_.late_percent)) SendLate(record->request);
  }
  world()->trace().Mix(record->id * 4 + static_cast<uint64_t>(end));
  Trace(record->request.function, " ", id, " (",
        record->request.client_id % 1000, "/", record->request.number, "): ",
        end == Record::End::kDone      ? "done"
        : end == Record::End::kRefused ? "refused, "
                                       : "unknown",
        record->status.message(), " sequence ", record->sequence);
}

}  // namespace kamino::simulation
