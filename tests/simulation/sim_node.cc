#include "tests/simulation/sim_node.h"

#include <string.h>

#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "node/reads.h"
#include "tests/simulation/workload.h"

namespace kamino::simulation {

using head::Request;
using head::RequestOutcome;
using node::SimDisk;
using node::SimMedia;
using replica::LogEntry;
using replica::LogRing;
using replica::Mutation;

namespace {

constexpr absl::Duration kSupervisorDelay = absl::Milliseconds(200);

}  // namespace

SimNode::SimNode(World* world, TimedNetwork* network, const Peers* peers,
                 CommittedLog* log, const std::string& name, Options options)
    : Process(world, name),
      network_(network),
      peers_(peers),
      log_(log),
      procedures_(WorkloadProcedures(
          [this] { return Slips(); },
          [this](absl::string_view victim) { return DiesOf(victim); })),
      newer_procedures_(WorkloadProcedures(
          [this] { return Slips(); },
          [this](absl::string_view victim) { return DiesOf(victim); },
          /*newer=*/true)),
      options_(std::move(options)),
      random_(world->random().Fork()),
      newer_(options_.newer) {
  LoseDisk();
}

SimNode::~SimNode() {
  // Effects of the parts' destruction do not leave the process.
  if (up()) End();
  network_->Died(this);
  Discard();
}

Slip SimNode::Slips() {
  if (!errs_next_) return Slip::kNone;
  // Two other members must tell; of two, an operator does. A replica that
  // stopped within a head's wrong computation could not continue without the
  // head: so of two that must not stop.
  const replica::ChainCore& core = node()->core();
  const size_t members = core.view().members.size();
  if (members < 2) return Slip::kNone;
  // Nor may the node behind a head be lost or expelled meanwhile:
  // docs/design/fault_model.md.
  if (core.place().is_head() && options_.is_there != nullptr &&
      !options_.is_there(core.view().members[1])) {
    return Slip::kNone;
  }
  errs_next_ = false;
  Trace("computes something wrong");
  has_erred_ = true;
  world()->tally().Count(members == 2 ? Kind::kErrorOfTwo : Kind::kError);
  if (members == 2 && core.place().is_head()) return Slip::kBytes;
  return random_.OneIn(3)   ? Slip::kBytes
         : random_.OneIn(2) ? Slip::kStops
                            : Slip::kAny;
}

// --- Life and death.

void SimNode::Start() {
  CHECK(!up());
  // A supervisor that restarts it repeatedly sees the same line each time.
  if (stays_down_ && options_.limit_is_lifted) return;
  Discard();
  started_ = world()->now();
  Trace("starts");
  ++starts_;
  if (options_.unequal) DrawFlags();
  Begin();
  DieByItself();
  Boot();
}

void SimNode::Boot() {
  node::StorageOptions storage_options = options_.storage;
  storage_options.first_incarnation = 1 + random_.Pick(1u << 30);
  storage_options.salt = random_.Next();
  storage_options.boot = boot_;
  if (mismatched_) SetMismatchedFlags(&storage_options);
  if (std::exchange(limit_is_lifted_, false)) storage_options.restart_limit = 0;
  auto storage = node::Storage::Open(storage_options,
                                     std::make_unique<SimMedia>(disk_.get()));
  if (!up()) return;
  if (!storage.ok()) return OnFatal(storage.status());
  if (std::exchange(must_tell_old_files_, false)) {
    return OnFatal(absl::InternalError(
        absl::StrCat("took older copies of ", absl::StrJoin(old_files_, ", "),
                     " for files of one age")));
  }
  old_files_.clear();
  transfers_ = 0;
  storage_ = storage->get();
  incarnation_ = storage_->record()->state().incarnation;
  stopping_ = ended_ = false;
  if (mismatched_) {
    mismatched_lives_.insert(incarnation_);
  } else {
    mismatched_lives_.erase(incarnation_);
  }
  const LogRing& ring = *storage_->ring();
  for (uint64_t last = ring.cleaned(); last < ring.received();) {
    const LogEntry entry = ring.EntryOf(last + 1);
    last = entry.last();
    appended_[entry.first()] = {entry.last(), std::string(entry.bytes())};
  }
  const auto find_peer = [this](const std::string& node_id) {
    SimNode* const other = peers_->nodes.at(node_id);
    return SimAgent::Peer{
        other, [other] { return other->up() ? other->agent_.get() : nullptr; }};
  };
  membership::AgentCore::Options agent = options_.agent;
  agent.medium_time = [this] { return MediumTime(); };
  agent_ = std::make_unique<SimAgent>(this, network_, &peers_->managers,
                                      find_peer, agent, random_.Fork());
  auto node = node::Node::Create(
      NodeOptionsOf(), Runtime(), std::move(*storage),
      newer_ ? &newer_procedures_ : &procedures_, agent_.get(), NodeEvents());
  CHECK(node.ok()) << node.status();
  node_ = std::move(*node);
  if (!up()) return;
  if (options_.session_records != nullptr) ListenForSessions();
  Trace(
      "has received ", ring.received(), ", applied ", ring.applied(),
      ", cleaned ", ring.cleaned(), "; incarnation ", incarnation_, ", ",
      membership::ConditionName(this->node()->core().soundness().condition()));
  CHECK(node_->Join(name()).ok());
}

void SimNode::ListenForSessions() {
  sessions_ = std::make_unique<node::SessionServer>(
      node::SessionServer::Options(), node_.get());
  const node::SessionLinks::Offer offer = {
      .factory = network_->Transports(this, SessionTransport()),
      .listen = SessionAddress(),
      .host_id = "",
      .lives_on_core = true};
  auto links = node::SessionLinks::Listen({offer}, sessions_.get());
  CHECK(links.ok()) << links.status();
  session_links_ = std::move(*links);
}

node::NodeOptions SimNode::NodeOptionsOf() {
  node::NodeOptions options = options_.node;
  options.chain.cluster_id = options_.cluster_id;
  options.chain.node_id = name();
  options.chain.on_appended = [this](const LogEntry& entry) {
    if (!up()) return;
    log_->OnAppended(entry.last());
    if (options_.session_records != nullptr) {
      options_.session_records->OnAppended(entry.first(), entry.bytes(),
                                           world()->now());
    }
    TraceEntry(entry);
    appended_[entry.first()] = {entry.last(), std::string(entry.bytes())};
  };
  for (const transport::Capabilities& kind : options_.transports) {
    options.links.offers.push_back({network_->Transports(this, kind), name()});
  }
  return options;
}

node::NodeRuntime SimNode::Runtime() {
  node::NodeRuntime runtime;
  runtime.clock = [this] { return Clock(); };
  auto executor =
      std::make_unique<SimExecutor>(this, random_.Fork(), options_.pace.batch);
  executor_ = executor.get();
  runtime.executor = std::move(executor);
  runtime.propagation_step = [this] {
    const Pace& pace = options_.pace;
    const bool rests = random_.Percent(pace.backup_rests_percent);
    return rests ? 0 : pace.propagation_step;
  };
  return runtime;
}

node::Node::Events SimNode::NodeEvents() {
  node::Node::Events events;
  events.fatal = [this](const absl::Status& status) { OnFatal(status); };
  events.role = [](membership::Role, bool) {};
  events.decided = [this](const node::ChainNode& node) {
    if (up()) Observe(node);
  };
  return events;
}

bool SimNode::serves_alone() const {
  return has_core() && node()->head().admission_stats().has_value() &&
         node()->core().place().is_tail();
}

void SimNode::Die(Crash crash) {
  if (!up()) return;
  Trace(crash == Crash::kPower ? "loses power" : "is killed");
  GoDown(crash);
  Discard();
}

void SimNode::DieAtDrain(uint64_t drains, Crash crash,
                         std::function<bool()> may_die) {
  drains_left_ = drains;
  may_die_ = std::move(may_die);
  next_crash_ = crash;
}

void SimNode::OnDrain() {
  if (!up()) return;
  if (executor_ != nullptr) executor_->Spend(drain_takes_);
  if (drains_left_ == 0 || --drains_left_ > 0) return;
  if (!may_die_()) return;
  Trace("goes down at a drain");
  GoDown(next_crash_);
}

bool SimNode::DiesOf(absl::string_view victim) {
  if (!up() || immune_) return false;
  const LogRing& ring = *storage_->ring();
  const bool replays = ring.applied() < ring.received();
  if (replays != (victim == kReplica)) return false;
  Trace("dies of a request");
  ++deaths_by_requests_;
  GoDown(Crash::kProcess);
  BeSupervised();
  return true;
}

void SimNode::BeSupervised() {
  if (supervised_ == absl::InfiniteDuration()) return;
  world()->After(supervised_, [this] {
    if (!up()) Start();
  });
}

void SimNode::DieByItself() {
  if (life_time_ == absl::InfiniteDuration()) return;
  After(life_time_, [this] {
    Die(Crash::kProcess);
    BeSupervised();
  });
}

void SimNode::GoDown(Crash crash) {
  if (storage_ != nullptr) {
    applied_before_ = storage_->ring()->marks().own().begin();
    was_receiving_ = FilesSayReceiving();
    const replica::NodeState& state = storage_->record()->state();
    needs_undo_copy_ = state.was_head || state.local_undo;
  }
  // Longer than the node's own clock shows.
  const absl::Duration long_life = options_.node.restarts.long_life * 1.2;
  if (world()->now() - started_ > long_life) deaths_ = 0;
  if (crash == Crash::kPower) {
    disk_->Crash(random_.Next());
    ++boot_;
  } else {
    disk_->Kill();
    ++deaths_;
  }
  drains_left_ = 0;
  network_->Died(this);
  End();
  // Not now: it may be in the middle of something.
  world()->After(absl::ZeroDuration(), [this] {
    if (!up()) Discard();
  });
}

void SimNode::Discard() {
  session_links_.reset();
  if (node_ != nullptr) node_->Stop();
  sessions_.reset();
  node_.reset();
  agent_.reset();
  storage_ = nullptr;
  executor_ = nullptr;
  if (disk_ != nullptr) disk_->Bury();
}

// A node that lost its disk may have to wait until its former life is
// forgotten; one with an old copy waits for an operator. Then the process is
// started again.
void SimNode::BeginAnewLater(const absl::Status& why) {
  Trace("is refused: ", why.message());
  GoDown(Crash::kProcess);
  world()->After(kOperatorDelay, [this] {
    if (up()) return;
    LoseDisk();
    Start();
  });
}

void SimNode::OnFatal(const absl::Status& status) {
  if (!up()) return;
  if (storage_ == nullptr &&
      absl::StrContains(status.message(), "stays down")) {
    return OnStaysDown(status);
  }
  if (TellsOldFile(status)) return BeginAnewLater(status);
  // It is told which operation it was.
  if ((has_erred_ || may_differ_) && absl::IsDataLoss(status) &&
      absl::StrContains(status.message(), "the result of mutation")) {
    Trace("ends: ", status.message());
    Forgive();
    GoDown(Crash::kProcess);
    world()->After(kSupervisorDelay, [this] {
      if (!up()) Start();
    });
    return;
  }
  if (absl::IsDataLoss(status) &&
      absl::StrContains(status.message(), "have changed")) {
    return OnWrong(status);
  }
  if (TellsRot(status)) return BeginAnewLater(status);
  if (IsMismatched(status) || LacksProcedure(status)) return OnMismatch(status);
  const bool refused = agent_ != nullptr && agent_->refused();
  const bool old_copy =
      refused && put_back_ && absl::IsFailedPrecondition(status);
  if (!old_copy && !(refused && absl::IsAlreadyExists(status))) {
    Trace("cannot go on: ", status.ToString());
    world()->Fail(absl::InternalError(
        absl::StrCat(name(), " cannot go on: ", status.ToString())));
    return;
  }
  Trace("is refused: ", status.message());
  GoDown(Crash::kProcess);
  world()->After(old_copy ? kOperatorDelay : kSupervisorDelay, [this] {
    if (!up()) Start();
  });
}

// The process must have died that often by itself, as an outside observer can
// tell.
void SimNode::OnStaysDown(const absl::Status& status) {
  Trace("ends: ", status.message());
  world()->tally().Count(Kind::kStaysDown);
  stays_down_ = true;
  End();
  if (deaths_ < options_.storage.restart_limit) {
    return world()->Fail(absl::InternalError(
        absl::StrCat(name(), " stays down, and has died ", deaths_,
                     " times at the most: ", status.message())));
  }
  if (!options_.limit_is_lifted) return;
  world()->After(kOperatorDelay, [this] {
    limit_is_lifted_ = true;
    stays_down_ = false;
    Start();
  });
}

void SimNode::OnWrong(const absl::Status& status) {
  bool changed = may_differ_;
  for (const std::string& value : options_.cold) {
    changed |= Find(value) == nullptr;
  }
  if (!changed) {
    world()->Fail(absl::InternalError(absl::StrCat(
        name(), " is known to be wrong and holds what was written: ",
        status.message())));
    return;
  }
  Trace("ends: ", status.message());
  decayed_ = may_differ_ = false;
  GoDown(Crash::kProcess);
  world()->After(kSupervisorDelay, [this] {
    if (!up()) Start();
  });
}

bool SimNode::TellsOldFile(const absl::Status& status) const {
  // A loss within one drain looks like a crash, and may be found out later.
  if (absl::IsDataLoss(status) && storage_ == nullptr) {
    return !old_files_.empty() && !must_tell_old_files_;
  }
  if (!absl::IsFailedPrecondition(status)) return false;
  // An old file of the node from before it lost its disk.
  if (!old_files_.empty() &&
      absl::StrContains(status.message(), "belongs to another heap")) {
    return true;
  }
  // The file was emptied since then.
  if (!old_files_.empty() &&
      absl::StrContains(status.message(), "one of them is from another time")) {
    return true;
  }
  for (const std::string& name : old_files_) {
    if (absl::StrContains(status.message(), absl::StrCat(name, " is older"))) {
      return true;
    }
  }
  return false;
}

bool SimNode::TellsRot(const absl::Status& status) const {
  return rotten_ && storage_ == nullptr &&
         (absl::IsDataLoss(status) || absl::IsFailedPrecondition(status));
}

void SimNode::TraceEntry(const LogEntry& entry) {
  if (!world()->trace().on()) return;
  std::string text;
  const auto mutations = entry.Mutations();
  for (const replica::MutationView& mutation : *mutations) {
    absl::StrAppend(&text, " ", mutation.function, " of ",
                    mutation.client_id % 1000, "/", mutation.number);
  }
  const auto write_set = entry.WriteSet();
  for (const engine::Intent& intent : *write_set) {
    absl::StrAppend(&text, "; kind ", static_cast<int>(intent.kind), " ",
                    intent.object, "[", intent.offset, "+", intent.length, ")");
  }
  Trace("has mutations ", entry.first(), " to ", entry.last(), ":", text);
}

void SimNode::Observe(const node::ChainNode& node) {
  const replica::ChainCore& core = node.core();
  if (core.place().role() != membership::Role::kOutside &&
      core.soundness().condition() == membership::Condition::kSound) {
    put_back_ = rotten_ = false;  // that excuses nothing any more
  }
  CountTransfers(core);
  if (!core.place().is_tail()) return;
  while (log_->size() < core.ring().applied()) {
    const uint64_t first = log_->size() + 1;
    const auto found = appended_.find(first);
    if (found == appended_.end()) {
      world()->Fail(absl::DataLossError(
          absl::StrCat(name(), " as tail has applied ", core.ring().applied(),
                       ", but never got an entry that begins with ", first)));
      return;
    }
    const auto& [last, bytes] = found->second;
    log_->OnTailApplied(last, bytes);
  }
  appended_.erase(appended_.begin(), appended_.upper_bound(log_->size()));
}

void SimNode::CountTransfers(const replica::ChainCore& core) {
  if (!core.links().joiner.keeps_up()) return;
  const replica::TransferStats stats = core.transfer();
  const uint64_t received = stats.begun - stats.went_on;
  if (received == transfers_) return;
  transfers_ = received;
  world()->tally().Count(stats.of_changes ? Kind::kCatchUp : Kind::kWholeHeap);
}

// --- Clients.

NodeAnswer SimNode::Answer(absl::Status status) const {
  NodeAnswer answer;
  answer.status = std::move(status);
  answer.chain = node_->view_board().current();
  return answer;
}

void SimNode::Mutate(Mutation mutation, absl::Duration timeout, Reply reply) {
  Request request;
  request.mutation = std::move(mutation);
  request.deadline = Clock() + timeout;
  request.done = [this, reply](RequestOutcome outcome) {
    if (!up()) return;
    NodeAnswer answer = Answer(std::move(outcome.status));
    answer.result = std::move(outcome.result);
    answer.sequence = outcome.sequence;
    answer.voided = outcome.voided;
    reply(std::move(answer));
  };
  node_->Mutate(std::move(request));
}

void SimNode::Read(std::vector<std::string> keys, node::ReadAt at,
                   Reply reply) {
  node_->Run([this, keys = std::move(keys), at, reply](node::ChainNode& node) {
    kamino::v1::BatchGetRequest request;
    for (const std::string& key : keys) request.add_keys(key);
    kamino::v1::BatchGetResponse response;
    NodeAnswer answer = Answer(node.reads().Read(
        /*scope=*/nullptr,
        [&](engine::KeyValueReader& objects) {
          return node::ReadBatch(objects, request, &response);
        },
        at));
    answer.at_replica =
        at == node::ReadAt::kAnyReplica && !node.core().place().is_tail();
    answer.sequence = answer.at_replica ? node.core().progress().settled()
                                        : node.core().ring().applied();
    for (const auto& result : response.results()) {
      answer.values.push_back(
          {result.key(), result.found(), result.value(), result.version()});
    }
    if (up()) reply(std::move(answer));
  });
}

void SimNode::ReadOutcome(kamino::v1::RequestId id, Reply reply) {
  node_->Run([this, id = std::move(id), reply](node::ChainNode& node) {
    kamino::v1::GetOutcomeResponse response;
    NodeAnswer answer = Answer(node.reads().ReadOutcome(id, &response));
    answer.sequence = node.core().progress().settled();
    answer.outcome = std::move(response);
    if (up()) reply(std::move(answer));
  });
}

void SimNode::AskChain(Reply reply) {
  node_->Run([this, reply](node::ChainNode& node) {
    NodeAnswer answer = Answer(absl::OkStatus());
    answer.sequence = node.core().progress().settled();
    if (up()) reply(std::move(answer));
  });
}

}  // namespace kamino::simulation
