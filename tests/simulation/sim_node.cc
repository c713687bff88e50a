#include "tests/simulation/sim_node.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "node/reads.h"

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
// Whoever looks at the files that were put back.
constexpr absl::Duration kOperatorDelay = absl::Milliseconds(700);

}  // namespace

SimNode::SimNode(World* world, TimedNetwork* network, const Peers* peers,
                 CommittedLog* log,
                 const replica::ProcedureRegistry* procedures,
                 const std::string& name, Options options)
    : Process(world, name),
      network_(network),
      peers_(peers),
      log_(log),
      procedures_(procedures),
      options_(std::move(options)),
      random_(world->random().Fork()) {
  LoseDisk();
}

SimNode::~SimNode() {
  // Nobody hears of what the parts do at their end.
  if (up()) End();
  network_->Died(this);
  Discard();
}

// --- Life and death.

void SimNode::LoseDisk() {
  CHECK(!up());
  Discard();
  disk_ = std::make_unique<SimDisk>(options_.drains_all);
  disk_->SetDrainHook([this] { OnDrain(); });
  put_back_ = false;
}

void SimNode::HangCore(absl::Duration time) {
  Trace("its core hangs for ", absl::FormatDuration(time));
  executor_->Hang(time);
}

SimNode::Copy SimNode::TakeCopy() const {
  return {incarnation_, node()->core().view().id, disk_->Copy()};
}

bool SimNode::IsOf(const Copy& copy) const {
  return incarnation_ == copy.incarnation && up() &&
         node()->core().view().id == copy.view_id;
}

void SimNode::PutBack(const Copy& copy) {
  CHECK(!up());
  Discard();
  Trace("is put back to an older copy of its disk");
  disk_->PutBack(copy.images);
  put_back_ = true;
}

void SimNode::Start() {
  CHECK(!up());
  Discard();
  Trace("starts");
  Begin();
  Boot();
}

void SimNode::Boot() {
  node::StorageOptions storage_options = options_.storage;
  storage_options.first_incarnation = 1 + random_.Pick(1u << 30);
  auto storage = node::Storage::Open(storage_options,
                                     std::make_unique<SimMedia>(disk_.get()));
  if (!up()) return;
  if (!storage.ok()) return OnFatal(storage.status());
  storage_ = storage->get();
  incarnation_ = storage_->record()->state().incarnation;
  const LogRing& ring = *storage_->ring();
  for (uint64_t last = ring.cleaned(); last < ring.received();) {
    const LogEntry entry = ring.EntryOf(last + 1);
    last = entry.last();
    appended_[entry.first()] = {entry.last(), std::string(entry.bytes())};
  }
  agent_ = std::make_unique<SimAgent>(this, network_, &peers_->managers,
                                      options_.agent, random_.Fork());
  auto node =
      node::Node::Create(NodeOptionsOf(), Runtime(), std::move(*storage),
                         procedures_, agent_.get(), NodeEvents());
  CHECK(node.ok()) << node.status();
  node_ = std::move(*node);
  if (!up()) return;
  Trace("has received ", ring.received(), ", applied ", ring.applied(),
        ", cleaned ", ring.cleaned(), "; incarnation ", incarnation_, ", ",
        membership::ConditionName(this->node()->core().condition()));
  CHECK(node_->Join(name()).ok());
}

node::NodeOptions SimNode::NodeOptionsOf() {
  node::NodeOptions options = options_.node;
  options.chain.cluster_id = options_.cluster_id;
  options.chain.node_id = name();
  options.chain.on_appended = [this](const LogEntry& entry) {
    if (!up()) return;
    log_->OnAppended(entry.last());
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
  return up() && node_ != nullptr && node()->admission_stats().has_value() &&
         node()->core().is_tail();
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
  if (!up() || drains_left_ == 0 || --drains_left_ > 0) return;
  if (!may_die_()) return;
  Trace("goes down at a drain");
  GoDown(next_crash_);
}

void SimNode::GoDown(Crash crash) {
  if (crash == Crash::kPower) {
    disk_->Crash(random_.Next());
  } else {
    disk_->Kill();
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
  node_.reset();
  agent_.reset();
  storage_ = nullptr;
  if (disk_ != nullptr) disk_->Bury();
}

// One that lost its disk may have to wait for its former self to be forgotten,
// one that is on an old copy for an operator: the process is started again.
void SimNode::OnFatal(const absl::Status& status) {
  if (!up()) return;
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
  if (!core.is_tail()) return;
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
    reply(std::move(answer));
  };
  node_->Mutate(std::move(request));
}

void SimNode::Read(std::vector<std::string> keys, Reply reply) {
  node_->Run([this, keys = std::move(keys), reply](node::ChainNode& node) {
    kamino::v1::BatchGetRequest request;
    for (const std::string& key : keys) request.add_keys(key);
    kamino::v1::BatchGetResponse response;
    NodeAnswer answer = Answer(node.Read([&](engine::KeyValueReader& objects) {
      return node::ReadBatch(objects, request, &response);
    }));
    answer.sequence = node.core().ring().applied();
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
    NodeAnswer answer = Answer(node.ReadOutcome(id, &response));
    answer.sequence = node.core().settled();
    answer.outcome = std::move(response);
    if (up()) reply(std::move(answer));
  });
}

void SimNode::AskChain(Reply reply) {
  node_->Run([this, reply](node::ChainNode& node) {
    NodeAnswer answer = Answer(absl::OkStatus());
    answer.sequence = node.core().settled();
    if (up()) reply(std::move(answer));
  });
}

}  // namespace kamino::simulation
