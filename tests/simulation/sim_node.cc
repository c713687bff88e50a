#include "tests/simulation/sim_node.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "head/reads.h"
#include "replica/errors.h"
#include "tests/faults/fault.h"

namespace kamino::simulation {

using head::Request;
using head::RequestOutcome;
using head::SimDisk;
using head::SimMedia;
using kamino::internal::v1::ChainRequest;
using membership::AgentCore;
using membership::View;
using replica::Actions;
using replica::OperationRing;

namespace {

constexpr absl::Duration kTick = absl::Milliseconds(15);
constexpr absl::Duration kCallDeadline = absl::Milliseconds(80);
constexpr absl::Duration kMinSpacing = absl::Milliseconds(5);
constexpr absl::Duration kSupervisorDelay = absl::Milliseconds(200);
// Whoever looks at the files that were put back.
constexpr absl::Duration kOperatorDelay = absl::Milliseconds(700);

}  // namespace

SimNode::SimNode(World* world, TimedNetwork* network, const Peers* peers,
                 CommittedLog* log,
                 const replica::ProcedureRegistry* procedures,
                 const std::string& name, Options options)
    : LinkOwner(world, name),
      network_(network),
      peers_(peers),
      log_(log),
      procedures_(procedures),
      options_(std::move(options)),
      random_(world->random().Fork()) {
  LoseDisk();
}

SimNode::~SimNode() {
  crashed_ = true;  // nobody hears of what the parts do at their end
  Discard();
}

// --- Life and death.

void SimNode::LoseDisk() {
  CHECK(node_ == nullptr);
  disk_ = std::make_unique<SimDisk>(options_.drains_all);
  disk_->SetDrainHook([this] { OnDrain(); });
  put_back_ = false;
}

SimNode::Copy SimNode::TakeCopy() const {
  return {incarnation_, node_->core().view().id, disk_->Copy()};
}

bool SimNode::IsOf(const Copy& copy) const {
  return incarnation_ == copy.incarnation && node_ != nullptr &&
         node_->core().view().id == copy.view_id;
}

void SimNode::PutBack(const Copy& copy) {
  CHECK(node_ == nullptr);
  Trace("is put back to an older copy of its disk");
  disk_->PutBack(copy.images);
  put_back_ = true;
}

void SimNode::Start() {
  CHECK(!up());
  Trace("starts");
  crashed_ = false;
  Begin();
  Boot();
}

void SimNode::Boot() {
  head::StorageOptions storage_options = options_.storage;
  storage_options.first_incarnation = 1 + random_.Pick(1u << 30);
  auto storage = head::Storage::Open(storage_options,
                                     std::make_unique<SimMedia>(disk_.get()));
  if (crashed_) {
    storage = absl::UnavailableError("crashed");  // its memory goes first
    EndIfCrashed();
    return;
  }
  if (!storage.ok()) return Fatal(storage.status());
  storage_ = std::move(*storage);
  incarnation_ = storage_->record()->state().incarnation;
  head::ChainNode::Options options;
  options.chain = options_.chain;
  options.chain.cluster_id = options_.cluster_id;
  options.chain.node_id = name();
  options.chain.incarnation = incarnation_;
  options.chain.heap_bytes = storage_->heap()->region()->size();
  options.chain.on_appended = [this](const OperationRing::Entry& entry) {
    if (crashed_) return;
    log_->OnAppended(entry.last);
    TraceOperation(entry);
    appended_[entry.first] = {entry.last, std::string(entry.operation)};
  };
  options.admission = options_.admission;
  options.lease_valid = [this](uint64_t view_id) {
    return agent_->LeaseValid(view_id, Clock());
  };
  node_ = std::make_unique<head::ChainNode>(std::move(options), storage_.get(),
                                            procedures_);
  const OperationRing& ring = *storage_->ring();
  Trace("has received ", ring.received(), ", applied ", ring.applied(),
        ", cleaned ", ring.cleaned(), "; incarnation ", incarnation_, ", ",
        membership::ConditionName(node_->core().condition()));
  for (uint64_t last = ring.cleaned(); last < ring.received();) {
    const OperationRing::Entry entry = ring.EntryOf(last + 1);
    last = entry.last;
    appended_[entry.first] = {entry.last, std::string(entry.operation)};
  }
  if (EndIfCrashed()) return;
  next_accepted_ = 2;
  agent_ = std::make_unique<AgentCore>(options_.agent);
  agent_->SetSelf(Self());
  reported_ = node_->report();
  agent_->SetReport(reported_);
  calling_ = false;
  WaitThenAsk(random_.Between(absl::ZeroDuration(), kCallDeadline));
  Tick();
}

membership::Member SimNode::Self() const {
  membership::Member self;
  self.node_id = name();
  self.incarnation = incarnation_;
  self.service_address = name();
  self.link_addresses = {{"sim", name()}};
  self.heap_bytes = storage_->heap()->region()->size();
  const engine::HeapUuid& uuid = storage_->heap()->uuid();
  self.heap_id.assign(uuid.begin(), uuid.end());
  return self;
}

bool SimNode::serves_alone() const {
  return node_ != nullptr && node_->admission_stats().has_value() &&
         node_->core().is_tail();
}

void SimNode::Die(Crash crash) {
  if (!up()) return;
  Trace(crash == Crash::kPower ? "loses power" : "is killed");
  if (!crashed_) {
    if (crash == Crash::kPower) {
      disk_->Crash(random_.Next());
    } else {
      disk_->Kill();
    }
  }
  crashed_ = true;
  Discard();
}

void SimNode::DieAtDrain(uint64_t drains, Crash crash,
                         std::function<bool()> may_die) {
  drains_left_ = drains;
  may_die_ = std::move(may_die);
  next_crash_ = crash;
}

void SimNode::OnDrain() {
  if (crashed_ || drains_left_ == 0 || --drains_left_ > 0) return;
  if (!may_die_()) return;
  Trace("goes down at a drain");
  crashed_ = true;
  if (next_crash_ == Crash::kPower) {
    disk_->Crash(random_.Next());
  } else {
    disk_->Kill();
  }
}

bool SimNode::EndIfCrashed() {
  if (!crashed_) return false;
  Discard();
  return true;
}

void SimNode::Discard() {
  drains_left_ = 0;
  inbox_.clear();
  batch_scheduled_ = false;
  node_.reset();
  storage_.reset();
  agent_.reset();
  disk_->Bury();
  if (up()) {
    network_->Died(this);
    End();
  }
}

void SimNode::Fatal(const absl::Status& status) {
  Trace("cannot go on: ", status.ToString());
  world()->Fail(absl::InternalError(
      absl::StrCat(name(), " cannot go on: ", status.ToString())));
}

// --- Batches, as head/core_thread.h makes them.

void SimNode::Post(Input input) {
  inbox_.push_back(std::move(input));
  ScheduleBatch();
}

void SimNode::ScheduleBatch() {
  if (std::exchange(batch_scheduled_, true)) return;
  After(random_.Between(absl::ZeroDuration(), options_.pace.batch),
        [this] { RunBatch(); });
}

void SimNode::RunBatch() {
  batch_scheduled_ = false;
  const std::vector<Input> inputs = std::exchange(inbox_, {});
  const absl::Time now = Clock();
  for (const Input& input : inputs) input(now);
  const Actions actions = node_->EndOfBatch(now);
  if (EndIfCrashed()) return;
  Observe();
  CarryOut(actions);
  if (!world()->violation().ok()) return;
  Report();
  const Pace& pace = options_.pace;
  const bool more = node_->ApplyBackup(
      random_.Percent(pace.backup_rests_percent) ? 0 : pace.backup_step);
  if (EndIfCrashed()) return;
  if (more) ScheduleBatch();
}

void SimNode::CarryOut(const Actions& actions) {
  if (!actions.fatal.ok()) return Fatal(actions.fatal);
  for (LinkId link : actions.close) network_->Close(this, link);
  for (const Actions::Open& open : actions.open) {
    const auto peer = peers_->nodes.find(open.member.node_id);
    network_->Open(this, open.link,
                   peer == peers_->nodes.end() ? nullptr : peer->second);
  }
  for (const Actions::Send& send : actions.send) {
    network_->SendOn(this, send.link, send.message);
  }
  if (actions.fetch_view) RequestView();
}

void SimNode::TraceOperation(const OperationRing::Entry& entry) {
  if (!world()->trace().on()) return;
  kamino::internal::v1::ChainOperation operation;
  operation.ParseFromArray(entry.operation.data(),
                           static_cast<int>(entry.operation.size()));
  std::string text;
  for (const ChainRequest& request : operation.requests()) {
    absl::StrAppend(&text, " ", request.function(), " of ",
                    request.client_id() % 1000, "/", request.number());
  }
  for (const auto& intent : operation.write_set()) {
    absl::StrAppend(&text, "; kind ", intent.kind(), " ", intent.object(), "[",
                    intent.offset(), "+", intent.length(), ")");
  }
  Trace("has mutations ", entry.first, " to ", entry.last, ":", text);
}

void SimNode::Report() {
  const membership::NodeReport report = node_->report();
  if (report == reported_) return;
  if (report.condition != reported_.condition) {
    Trace("is ", membership::ConditionName(report.condition));
  }
  const bool caught_up =
      report.caught_up_view != 0 && reported_.caught_up_view == 0;
  reported_ = report;
  agent_->SetReport(report);
  if (caught_up) RequestView();
}

void SimNode::Observe() {
  const replica::ChainCore& core = node_->core();
  if (!core.is_tail()) return;
  while (log_->size() < core.ring().applied()) {
    const uint64_t first = log_->size() + 1;
    const auto found = appended_.find(first);
    if (found == appended_.end()) {
      world()->Fail(absl::DataLossError(absl::StrCat(
          name(), " as tail has applied ", core.ring().applied(),
          ", but never got an operation that begins with ", first)));
      return;
    }
    const auto& [last, operation] = found->second;
    log_->OnTailApplied(last, operation);
  }
  appended_.erase(appended_.begin(), appended_.upper_bound(log_->size()));
}

void SimNode::Tick() {
  Post([this](absl::Time now) { node_->OnTick(now); });
  After(kTick, [this] { Tick(); });
}

// --- Clients.

NodeAnswer SimNode::Answer(absl::Status status) const {
  NodeAnswer answer;
  answer.status = std::move(status);
  answer.chain = node_->core().view();
  return answer;
}

void SimNode::Mutate(ChainRequest request, absl::Duration timeout,
                     Reply reply) {
  auto shared = std::make_shared<Request>();
  shared->request = std::move(request);
  shared->deadline = Clock() + timeout;
  shared->done = [this, reply](RequestOutcome outcome) {
    if (crashed_) return;
    NodeAnswer answer = Answer(std::move(outcome.status));
    answer.result = std::move(outcome.result);
    answer.sequence = outcome.sequence;
    reply(std::move(answer));
  };
  Post([this, shared](absl::Time now) {
    node_->Submit(std::move(*shared), now);
  });
}

void SimNode::Read(std::vector<std::string> keys, Reply reply) {
  Post([this, keys = std::move(keys), reply](absl::Time) {
    kamino::v1::BatchGetRequest request;
    for (const std::string& key : keys) request.add_keys(key);
    kamino::v1::BatchGetResponse response;
    NodeAnswer answer =
        Answer(node_->Read([&](engine::KeyValueReader& objects) {
          return head::ReadBatch(objects, request, &response);
        }));
    answer.sequence = node_->core().ring().applied();
    for (const auto& result : response.results()) {
      answer.values.push_back(
          {result.key(), result.found(), result.value(), result.version()});
    }
    if (!crashed_) reply(std::move(answer));
  });
}

void SimNode::ReadOutcome(kamino::v1::RequestId id, Reply reply) {
  Post([this, id = std::move(id), reply](absl::Time) {
    kamino::v1::GetOutcomeResponse response;
    NodeAnswer answer = Answer(node_->ReadOutcome(id, &response));
    answer.sequence = node_->core().settled();
    answer.outcome = std::move(response);
    if (!crashed_) reply(std::move(answer));
  });
}

void SimNode::AskChain(Reply reply) {
  Post([this, reply](absl::Time) {
    NodeAnswer answer = Answer(absl::OkStatus());
    answer.sequence = node_->core().settled();
    if (!crashed_) reply(std::move(answer));
  });
}

// --- Links.

SimNode::LinkId SimNode::OnAccepted() {
  const LinkId link = next_accepted_;
  next_accepted_ += 2;
  return link;
}

void SimNode::OnOpened(LinkId link) {
  Post([this, link](absl::Time now) { node_->OnLinkOpened(link, now); });
}

void SimNode::OnMessage(LinkId link, const ChainMessage& message) {
  Post([this, link, message](absl::Time now) {
    node_->OnMessage(link, message, now);
  });
}

void SimNode::OnClosed(LinkId link) {
  Post([this, link](absl::Time now) { node_->OnLinkClosed(link, now); });
}

// --- The manager, as membership/membership_agent.h asks it.

void SimNode::WaitThenAsk(absl::Duration wait) {
  After(std::max(wait, kMinSpacing), [this, number = ++wait_] {
    if (number == wait_) AskManager();
  });
}

void SimNode::RequestView() {
  if (!calling_) WaitThenAsk(kMinSpacing);
}

void SimNode::AskManager() {
  ++wait_;
  calling_ = true;
  CallManager(agent_->Next(Clock()));
}

void SimNode::CallManager(const AgentCore::Call& call) {
  const uint64_t number = ++call_;
  const auto answered = [this, number, call](const SimManager::Answer& answer) {
    if (number != call_) return;  // it was given up
    ++call_;
    OnManagerAnswer(call, answer);
  };
  const auto manager = peers_->managers.find(call.manager);
  if (manager != peers_->managers.end()) {
    SimManager* to = manager->second;
    network_->Send(this, to, [this, to, call, answered, life = life()] {
      const SimManager::Answer answer = to->Serve(call);
      network_->Send(to, this, [this, answer, answered, life] {
        if (life == this->life()) answered(answer);
      });
    });
  }
  After(kCallDeadline, [answered] {
    SimManager::Answer answer;
    answer.status = absl::DeadlineExceededError("no answer");
    answered(answer);
  });
}

void SimNode::OnManagerAnswer(const AgentCore::Call& call,
                              const SimManager::Answer& answer) {
  calling_ = false;
  AgentCore::Call asked = call;
  if (faults::FaultPlanted("membership-leases-from-the-answer")) {
    asked.sent = Clock();
  }
  const AgentCore::Effects effects = agent_->OnAnswer(asked, answer, Clock());
  if (!effects.refused.ok()) return OnRefused(effects.refused);
  if (effects.view.has_value()) {
    const View view = *effects.view;
    Trace("learns ", view.ToString());
    Post([this, view](absl::Time now) { node_->OnView(view, now); });
  }
  if (effects.invited.has_value()) {
    Post([this, invited = *effects.invited](absl::Time now) {
      node_->OnInvited(invited, now);
    });
  }
  WaitThenAsk(effects.wait);
}

// One that lost its disk may have to wait for its former self to be forgotten,
// one that is on an old copy for an operator: the process is started again.
void SimNode::OnRefused(const absl::Status& status) {
  const bool old_copy = put_back_ && absl::IsFailedPrecondition(status);
  if (!absl::IsAlreadyExists(status) && !old_copy) return Fatal(status);
  Trace("is refused: ", status.message());
  Die(Crash::kProcess);
  world()->After(old_copy ? kOperatorDelay : kSupervisorDelay, [this] {
    if (!up()) Start();
  });
}

}  // namespace kamino::simulation
