#include "tests/simulation/sim_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kamino/v1/kamino.pb.h"
#include "replica/builtins.h"
#include "replica/errors.h"
#include "tests/simulation/version_checker.h"

namespace kamino::simulation {

using replica::Mutation;

namespace {

constexpr absl::Duration kAttemptDeadline = absl::Milliseconds(250);
constexpr absl::Duration kFirstDelay = absl::Milliseconds(2);
constexpr absl::Duration kMostDelay = absl::Milliseconds(60);
constexpr absl::Duration kMostLate = absl::Seconds(2);
constexpr uint64_t kAskPercent = 8;  // of what a client does
constexpr size_t kRemembered = 16;

struct Decision {
  bool retry = false;
  bool refresh = false;
  bool outcome_unknown = false;
};

// As client/retry.h.
Decision Decide(const absl::Status& status) {
  switch (replica::ReasonOf(status)) {
    case kamino::v1::REASON_NOT_HEAD:
    case kamino::v1::REASON_NOT_TAIL:
    case kamino::v1::REASON_RECONFIGURING:
      return {true, true, false};
    case kamino::v1::REASON_OUTCOME_UNKNOWN:
    case kamino::v1::REASON_UNSPECIFIED:
      return {true, true, true};
    case kamino::v1::REASON_OVERLOADED:
    case kamino::v1::REASON_NOT_CLEAN:
      return {true, false, false};
    default:
      return {};
  }
}

std::string Sent(const Mutation& request) {
  return absl::StrCat(request.function, " ", request.arguments);
}

}  // namespace

SimClient::SimClient(World* world, TimedNetwork* network,
                     const SimNode::Peers* peers, Workload* workload,
                     const CommittedLog* log, History* history,
                     SentRequests* sent, const std::string& name,
                     const Options& options)
    : Process(world, name),
      network_(network),
      peers_(peers),
      workload_(workload),
      log_(log),
      history_(history),
      sent_(sent),
      options_(options),
      random_(world->random().Fork()) {
  NewId();
}

void SimClient::Start(std::optional<Record> first) {
  Process::Begin();
  if (first.has_value()) return Begin(*std::move(first));
  Think();
}

void SimClient::NewId() {
  client_id_ = random_.Next() | 1;
  number_ = 1;
}

void SimClient::Think() {
  idle_ = stopping_;
  if (stopping_) return;
  After(random_.Between(absl::ZeroDuration(), options_.think), [this] {
    idle_ = stopping_;
    if (stopping_) return;
    Begin(!sent_before_.empty() && random_.Percent(kAskPercent)
              ? AskForOutcome()
              : workload_->Next(versions_));
  });
}

void SimClient::SetName() {
  record_->request.client_id = client_id_;
  record_->request.number = number_;
  record_->request.since = seen_;
}

Record SimClient::AskForOutcome() {
  Record record;
  record.is_read = true;
  record.asks_for = sent_before_[random_.Pick(sent_before_.size())];
  return record;
}

void SimClient::Remember(const Mutation& request) {
  kamino::v1::RequestId id;
  id.set_client_id(request.client_id);
  id.set_number(request.number);
  id.set_since(request.since);
  sent_before_.push_back(std::move(id));
  if (sent_before_.size() > kRemembered) sent_before_.pop_front();
}

// Imitates a client or a proxy that was stopped in between. It does not wait
// for the answer.
void SimClient::SendLate(const Mutation& request) {
  After(random_.Between(absl::ZeroDuration(), kMostLate), [this, request] {
    if (stopping_ || !KnowsChain()) return;
    const auto node = peers_->nodes.find(chain_->nodes().begin()->node_id());
    if (node == peers_->nodes.end()) return;
    Trace("sends again ", request.client_id % 1000, "/", request.number);
    SimNode* const head = node->second;
    network_->Send(this, head, [head, request] {
      head->Mutate(request, kAttemptDeadline, [](const NodeAnswer&) {});
    });
  });
}

void SimClient::Begin(Record record) {
  idle_ = false;
  record.id = history_->size() + 1;
  record.client = name();
  record.invoked = world()->now();
  history_->push_back(std::move(record));
  record_ = &history_->back();
  if (!record_->is_read) SetName();
  record_->any_replica = options_.replica_percent > 0 && record_->is_read &&
                         !record_->asks_for.has_value() &&
                         random_.Percent(options_.replica_percent);
  expired_ = false;
  phase_ = Phase::kAsk;
  tries_ = 0;
  outcome_unknown_ = false;
  last_refusal_ = absl::OkStatus();
  Attempt();
}

std::string SimClient::Mark() const {
  return absl::StrCat("settle/", client_id_, "/", number_);
}

Mutation SimClient::Request() const {
  if (phase_ != Phase::kSettle) return record_->request;
  kamino::v1::CommitRequest commit;
  auto* condition = commit.add_preconditions();
  condition->set_key(Mark());
  condition->set_exists(true);
  Mutation request = record_->request;
  request.function = replica::kCommitFunction;
  request.arguments = commit.SerializeAsString();
  return request;
}

// --- One attempt.

void SimClient::Attempt() {
  ++attempt_;
  ++tries_;
  if (!KnowsChain()) return Refresh();
  const auto& member =
      chain_->nodes(record_->is_read ? chain_->nodes_size() - 1 : 0);
  const auto node = peers_->nodes.find(member.node_id());
  if (node == peers_->nodes.end()) return Refresh();
  const bool astray = random_.Percent(options_.astray_percent) ||
                      (record_->any_replica && tries_ == 1);
  SendTo(astray ? AnyNode() : node->second);
  After(kAttemptDeadline, [this, attempt = attempt_] {
    if (attempt != attempt_) return;
    NodeAnswer answer;
    answer.status = absl::DeadlineExceededError("no answer");
    OnAnswer(answer);
  });
}

void SimClient::SendTo(SimNode* node) {
  const auto reply = [this, node, attempt = attempt_](NodeAnswer answer) {
    network_->Send(node, this, [this, attempt, answer = std::move(answer)] {
      if (attempt == attempt_) OnAnswer(answer);
    });
  };
  if (record_->asks_for.has_value()) {
    network_->Send(this, node, [node, id = *record_->asks_for, reply] {
      node->ReadOutcome(id, reply);
    });
    return;
  }
  if (record_->is_read) {
    const auto at =
        record_->any_replica ? node::ReadAt::kAnyReplica : node::ReadAt::kTail;
    network_->Send(this, node, [node, keys = record_->keys, at, reply] {
      node->Read(keys, at, reply);
    });
    return;
  }
  const Mutation request = Request();
  std::vector<std::string>& sent = (*sent_)[{client_id_, number_}];
  if (sent.empty() || sent.back() != Sent(request)) {
    sent.push_back(Sent(request));
  }
  network_->Send(this, node, [node, request, reply] {
    node->Mutate(request, kAttemptDeadline, reply);
  });
}

void SimClient::LearnChain(const NodeAnswer& answer) {
  if (answer.chain == nullptr) return;
  if (chain_ == nullptr || answer.chain->view_id() > chain_->view_id()) {
    chain_ = answer.chain;
  }
}

void SimClient::OnAnswer(const NodeAnswer& answer) {
  ++attempt_;
  LearnChain(answer);
  if (answer.status.ok()) {
    seen_ = std::max(seen_, answer.sequence);
    if (phase_ == Phase::kSettle) return OnSettled(answer);
    record_->result = answer.result;
    record_->sequence = answer.sequence;
    record_->values = answer.values;
    record_->at_replica = answer.at_replica;
    if (answer.at_replica) world()->tally().Count(Kind::kCleanRead);
    record_->outcome = answer.outcome;
    return Finish(Record::End::kDone);
  }
  const Decision decision = Decide(answer.status);
  if (replica::ReasonOf(answer.status) == kamino::v1::REASON_NOT_CLEAN) {
    world()->tally().Count(Kind::kNotClean);
  }
  outcome_unknown_ |= decision.outcome_unknown;
  if (!decision.retry) return OnRefused(answer.status);
  last_refusal_ = answer.status;
  if (outcome_unknown_ && !record_->is_read &&
      random_.Percent(options_.abandon_percent)) {
    Trace("gives up on ", record_->id);
    return Finish(Record::End::kUnknown);
  }
  Retry(decision.refresh);
}

void SimClient::OnRefused(const absl::Status& status) {
  if (replica::ReasonOf(status) == kamino::v1::REASON_UNKNOWN_PROCEDURE) {
    world()->tally().Count(Kind::kLacks);
  }
  if (replica::ReasonOf(status) == kamino::v1::REASON_HEAP_FULL) {
    OnFullHeap(status);
  }
  if (record_->is_read) {
    record_->status = status;
    return Finish(Record::End::kRefused);
  }
  if (phase_ != Phase::kAsk) return Finish(Record::End::kUnknown);
  if (outcome_unknown_) {
    refusal_ = status;
    phase_ = Phase::kSettle;
    return Retry(/*refresh=*/false);
  }
  if (replica::ReasonOf(status) == kamino::v1::REASON_CLIENT_EXPIRED) {
    // The outcome may be forgotten, and nothing was changed: tries again under
    // another name, once it knows the chain's position.
    expired_ = true;
    return Retry(/*refresh=*/true);
  }
  record_->status = status;
  Finish(Record::End::kRefused);
}

// Whatever has filled the heap, it can be emptied.
void SimClient::OnFullHeap(const absl::Status& status) {
  world()->tally().Count(Kind::kFull);
  if (phase_ != Phase::kAsk || !Workload::FreesRoom(record_->request)) return;
  world()->Fail(absl::InternalError(absl::StrCat(
      "a delete, ", record_->id, ", was refused: ", status.message())));
}

void SimClient::OnSettled(const NodeAnswer& answer) {
  kamino::v1::CommitResponse response;
  const bool took = response.ParseFromString(answer.result) &&
                    response.failed_keys_size() == 1 &&
                    response.failed_keys(0) == Mark();
  if (!took) {
    phase_ = Phase::kFetch;  // it had committed
    return Retry(/*refresh=*/false);
  }
  ++number_;
  record_->status = refusal_;
  Finish(Record::End::kRefused);
}

void SimClient::Retry(bool refresh) {
  const int doublings = std::min(tries_, 5);
  const absl::Duration most =
      std::min(kMostDelay, kFirstDelay * (1 << doublings));
  After(random_.Between(most / 2, most), [this, refresh] {
    if (refresh) return Refresh();
    Attempt();
  });
}

SimNode* SimClient::AnyNode() {
  auto peer = peers_->nodes.begin();
  std::advance(peer, random_.Pick(peers_->nodes.size()));
  return peer->second;
}

// Asks any node for the chain, then tries again.
void SimClient::Refresh() {
  ++attempt_;
  SimNode* const node = AnyNode();
  network_->Send(this, node, [this, node, attempt = attempt_] {
    node->AskChain([this, node, attempt](NodeAnswer answer) {
      network_->Send(node, this, [this, attempt, answer = std::move(answer)] {
        if (attempt != attempt_) return;
        ++attempt_;
        LearnChain(answer);
        seen_ = std::max(seen_, answer.sequence);
        if (!KnowsChain()) return Retry(/*refresh=*/true);
        if (std::exchange(expired_, false)) {
          NewId();
          SetName();
        }
        Attempt();
      });
    });
  });
  After(kMostDelay, [this, attempt = attempt_] {
    if (attempt != attempt_) return;
    ++attempt_;
    Retry(/*refresh=*/true);
  });
}

void SimClient::LearnVersions() {
  for (const VersionedValue& seen : VersionsIn(*record_)) {
    if (seen.key[0] == 'r') versions_[seen.key] = seen.version;
  }
}

void SimClient::Finish(Record::End end) {
  const bool settled = phase_ == Phase::kSettle;
  record_->end = end;
  record_->newest_at_return = log_->newest();
  if (end != Record::End::kUnknown) record_->returned = world()->now();
  if (end == Record::End::kDone) LearnVersions();
  if (!record_->is_read && end != Record::End::kRefused) {
    Remember(record_->request);
    if (random_.Percent(options_.late_percent)) SendLate(record_->request);
  }
  if (!record_->is_read) {
    const auto reason = replica::ReasonOf(record_->status);
    if (end == Record::End::kDone) {
      ++number_;
    } else if (end == Record::End::kUnknown ||
               (!settled && reason == kamino::v1::REASON_SUPERSEDED)) {
      NewId();
    }
    if (random_.Percent(options_.fresh_ids_percent)) NewId();
  }
  world()->trace().Mix(record_->id * 4 + static_cast<uint64_t>(end));
  Trace(record_->is_read ? "read " : record_->request.function, " ",
        record_->id, ": ",
        end == Record::End::kDone      ? "done"
        : end == Record::End::kRefused ? "refused, "
                                       : "unknown",
        record_->status.message(), " sequence ", record_->sequence);
  record_ = nullptr;
  ++operations_;
  Think();
}

}  // namespace kamino::simulation
