#include "node/driver/node.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/escaping.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "node/driver/node_agreement.h"
#include "replica/errors.h"

namespace kamino::node {
namespace {

using kamino::internal::v1::ChainMessage;
using membership::Member;
using membership::View;
using replica::Actions;
using replica::LinkId;

// A request on its way to the core thread. If the node stops before it gets
// there, it is answered.
class Owed {
 public:
  explicit Owed(head::Request request) : request_(std::move(request)) {}
  Owed(Owed&&) = default;
  ~Owed() {
    if (request_.done == nullptr) return;
    request_.done({replica::MakeError(kamino::v1::REASON_RECONFIGURING,
                                      "this node is stopping"),
                   "", 0});
  }
  head::Request Take() { return std::move(request_); }

 private:
  head::Request request_;
};

// Bits of Node::standing_bits_.
constexpr uint32_t kReadyBit = 1;
constexpr uint32_t kLeaseBit = 2;
constexpr uint32_t kUnlinkedBit = 4;
constexpr int kRoleShift = 8;
constexpr int kConditionShift = 16;

// A member whose links have never been up since its view began does not serve.
// Links usually come up within milliseconds; a node that cannot be reached at
// all leaves the chain after the failure timeout.
constexpr absl::Duration kMostUnlinked = absl::Seconds(5);

}  // namespace

Node::Node(NodeOptions options, NodeRuntime runtime,
           std::unique_ptr<Storage> storage,
           const replica::ProcedureRegistry* procedures,
           membership::ViewSource* views, Events events)
    : options_(std::move(options)),
      clock_(std::move(runtime.clock)),
      propagation_step_(std::move(runtime.propagation_step)),
      events_(std::move(events)),
      views_(views),
      started_(Now()),
      view_board_(options_.chain.chain_id),
      cluster_(options_.cluster != nullptr
                   ? options_.cluster
                   : std::make_shared<rpc::ClusterIdentity>()),
      reads_(options_.reads),
      results_(options_.results),
      stages_(clock_),
      storage_(std::move(storage)),
      agreement_(AgreementOf(*storage_, *procedures,
                             options_.links.transport.max_message)),
      condition_since_(started_),
      departure_(options_.departure),
      core_(std::move(runtime.executor)) {
  const replica::NodeState& state = storage_->record()->state();
  const bool holds_state = state.condition != membership::Condition::kReceiving;
  cluster_->Set(
      options_.chain.cluster_id,
      holds_state ? absl::BytesToHexString(replica::BytesOf(state.cluster_uuid))
                  : "");
  ChainNode::Options chain;
  chain.chain = options_.chain;
  chain.chain.stages = &stages_;
  chain.chain.heap_bytes = storage_->heap()->region()->size();
  chain.chain.incarnation = storage_->record()->state().incarnation;
  chain.chain.agreement = agreement_;
  if (options_.links.knows_peers) {
    chain.chain.identity_of = [this](uint64_t link) {
      return links_->IdentityOf(link);
    };
  }
  chain.chain.max_entry_bytes =
      MaxEntryBytes(options_.links.transport.max_message);
  chain.admission = options_.admission;
  chain.admission.stages = &stages_;
  chain.admission.clock = clock_;
  chain.snapshots = options_.snapshots;
  chain.lease_valid = [views](uint64_t view_id) {
    return views->LeaseValid(view_id);
  };
  chain.doing = [this](absl::string_view what, uint64_t whose) {
    activity_.Doing(what, whose);
  };
  node_ =
      std::make_unique<ChainNode>(std::move(chain), storage_.get(), procedures);
}

CoreExecutor::Hooks Node::ExecutorHooks() {
  CoreExecutor::Hooks hooks;
  hooks.tick = [this] {
    ticked_ = true;
    views_->NoteProgress();
    if (Now() - started_ >= options_.restarts.long_life) {
      storage_->restarts()->Forget();
    }
    node_->OnTick(Now());
    reads_.EndOverdue(Now());
    results_.EndOverdue(Now());
    links_->CloseUnused(Now(), [this](LinkId link) {
      return node_->core().link_table().Uses(link);
    });
    links_->CloseDenied(Now());
    NoteCondition(Now());
    ReportRole();
    if (departure_.OnTick(Now())) views_->Surrender();
    ContinueDeparture();
    if (user_ != nullptr) user_->OnTick(Now());
  };
  hooks.end_of_batch = [this] { return EndOfBatch(); };
  hooks.activity = &activity_;
  hooks.stood_still = [this](absl::Duration time) {
    node_->OnStoodStill(time, views_->FailureTimeout());
  };
  return hooks;
}

absl::StatusOr<std::unique_ptr<Node>> Node::Create(
    NodeOptions options, NodeRuntime runtime, std::unique_ptr<Storage> storage,
    const replica::ProcedureRegistry* procedures, membership::ViewSource* views,
    Events events) {
  auto node = absl::WrapUnique(new Node(std::move(options), std::move(runtime),
                                        std::move(storage), procedures, views,
                                        std::move(events)));
  if (absl::Status listens = node->Listen(); !listens.ok()) {
    node->EndRefused();
    return listens;
  }
  return node;
}

LinkHub::Events Node::HubEvents() {
  LinkHub::Events events;
  events.opened = [this](LinkId link) {
    core_->Post([this, link] { node_->OnLinkOpened(link, Now()); });
  };
  events.closed = [this](LinkId link) {
    core_->Post([this, link] { node_->OnLinkClosed(link, Now()); });
  };
  events.message = [this](LinkId link, ChainMessage message,
                          absl::string_view payload, size_t bytes) {
    const bool ran =
        core_->RunNow([&] { node_->OnMessage(link, message, payload, Now()); });
    if (ran) return;
    core_->PostAndWait(
        [this, link, message = std::move(message),
         kept = std::string(payload)] {
          node_->OnMessage(link, message, kept, Now());
        },
        bytes);
  };
  return events;
}

absl::Status Node::Listen() {
  LinkHub::Options options = options_.links;
  options.cluster_id = options_.chain.cluster_id;
  options.node_id = options_.chain.node_id;
  options.transport.era = [this] { return view_board_.current()->view_id(); };
  options.transport.loop = core_->loop();
  ASSIGN_OR_RETURN(links_, LinkHub::Create(std::move(options), HubEvents()));
  core_->Start(ExecutorHooks());
  return absl::OkStatus();
}

absl::Status Node::Join(const std::string& service_address,
                        const std::string& peer_address) {
  Member self;
  self.node_id = options_.chain.node_id;
  self.incarnation = storage_->record()->state().incarnation;
  self.service_address = service_address;
  const bool apart = !peer_address.empty();
  self.link_addresses =
      links_->Addresses(apart ? peer_address : service_address);
  if (apart) self.link_addresses[membership::kPeerCalls] = peer_address;
  self.heap_bytes = storage_->heap()->region()->size();
  self.heap_id = replica::BytesOf(storage_->record()->state().heap_id);
  self.agreement = agreement_;
  membership::ViewSourceCallbacks callbacks;
  callbacks.on_view = [this](const View& view) {
    core_->Post([this, view] {
      const uint64_t before = node_->core().view().id;
      cluster_->Set(view.cluster_id, absl::BytesToHexString(view.cluster_uuid));
      // Requests that wait for what this node can no longer do are redirected.
      const bool stays = view.IndexOf(node_id(), node_->incarnation()) >= 0;
      if (!stays) view_board_.Publish(view);
      node_->OnView(view, Now());
      if (node_->core().view().id != before) {
        ++view_changes_;
        links_->Expect(node_->core().view().members);
      }
      if (stays) view_board_.Publish(view);
      if (events_.view != nullptr) events_.view(view);
      departure_.OnView(node_->core().place().role() !=
                        membership::Role::kOutside);
      ContinueDeparture();
      Report();
    });
  };
  callbacks.on_parting = [this](membership::Parting parting) {
    core_->Post([this, parting] {
      departure_.OnParting(parting, Now());
      ContinueDeparture();
    });
  };
  callbacks.on_invited = [this](bool invited) {
    core_->Post([this, invited] { node_->OnInvited(invited, Now()); });
  };
  callbacks.on_refused = [this](absl::Status status) {
    core_->Post([this, status = std::move(status)] {
      storage_->restarts()->OnRefused();
      events_.fatal(status);
    });
  };
  const replica::NodeState& state = storage_->record()->state();
  const uint32_t restarts = state.restarts;
  // If it was the whole chain, a delay does not help any other node.
  const absl::Duration rest = state.alone
                                  ? absl::ZeroDuration()
                                  : DelayAfter(options_.restarts, restarts);
  if (rest > absl::ZeroDuration()) {
    LOG(WARNING) << "node " << self.node_id << " has died " << restarts
                 << " times, each time soon after its start; it waits for "
                 << rest << " before it asks to be taken in";
  }
  views_->RestBeforeStart(rest);
  // The report for the registration; the core thread has done nothing yet.
  views_->SetReport(node_->report());
  return views_->Start(self, std::move(callbacks));
}

Node::~Node() { Stop(); }

void Node::HandOver(std::function<void(bool)> done) {
  core_->Post([this, done = std::move(done)] {
    on_parted_ = done;
    departure_.Begin(node_->core().place().role() != membership::Role::kOutside,
                     Now());
    if (!departure_.over()) views_->AskToPart();
    ContinueDeparture();
  });
}

void Node::ContinueDeparture() {
  if (departure_.holds()) node_->Hold();
  if (!departure_.over() || on_parted_ == nullptr) return;
  std::exchange(on_parted_, nullptr)(departure_.has_parted());
}

void Node::Retire(std::function<void()> done) {
  core_->Post([this, done = std::move(done)] {
    node_->Retire();
    on_retired_ = done;
  });
}

void Node::Stop() {
  if (std::exchange(stopped_, true)) return;
  views_->Stop();
  core_->Stop();   // runs what was posted before; later posts are refused
  links_.reset();  // its threads may still try to post
  node_->Stop();   // answers waiting requests, which may examine it
  node_.reset();
}

void Node::Attach(CoreUser* user) {
  core_->Post([this, user] { user_ = user; });
}

bool Node::Admit(head::Request* request) {
  const int64_t bytes =
      static_cast<int64_t>(request->mutation.arguments.size());
  const bool full =
      pending_requests_.fetch_add(1) >= options_.max_pending_requests;
  const bool heavy =
      pending_bytes_.fetch_add(bytes) + bytes > options_.max_pending_bytes;
  request->done = [this, bytes, done = std::move(request->done)](
                      head::RequestOutcome outcome) mutable {
    pending_requests_.fetch_sub(1);
    pending_bytes_.fetch_sub(bytes);
    done(std::move(outcome));
  };
  if (!full && !heavy) return true;
  head::RequestOutcome refusal;
  refusal.status = replica::MakeError(kamino::v1::REASON_OVERLOADED,
                                      "too many requests wait at this node");
  request->done(std::move(refusal));
  return false;
}

void Node::Mutate(head::Request request) {
  if (!Admit(&request)) return;
  core_->Post([this, owed = Owed(std::move(request))]() mutable {
    node_->Submit(owed.Take(), Now());
  });
}

void Node::Submit(head::Request request) {
  if (Admit(&request)) node_->Submit(std::move(request), Now());
}

bool Node::Run(absl::AnyInvocable<void(ChainNode&)> task) {
  return core_->Post([this, task = std::move(task)]() mutable {
    activity_.Doing("a call");
    task(*node_);
  });
}

bool Node::Read(absl::AnyInvocable<void(ChainNode&)> read) {
  return core_->PostRead([this, read = std::move(read)]() mutable {
    activity_.Doing("a read");
    read(*node_);
  });
}

// --- Core thread.

void Node::Report() {
  // Each batch moves the cursors; heartbeats need no finer ones. They are
  // reported together with any other change: a node's data is judged by both.
  const ChainNode::Standing standing = node_->standing();
  const bool ticked = std::exchange(ticked_, false);
  if (!ticked && standing == standing_) return;
  standing_ = standing;
  membership::NodeReport report = node_->report();
  if (report == reported_) return;
  const bool caught_up =
      report.caught_up_view != 0 && reported_.caught_up_view == 0;
  reported_ = report;
  views_->SetReport(report);
  if (caught_up) views_->RequestView();  // so that the manager need not wait
}

bool Node::EndOfBatch() {
  const absl::Time now = Now();
  Actions actions = node_->EndOfBatch(now);
  settled_.store(node_->core().progress().settled(), std::memory_order_relaxed);
  stages_.OnBatch(node_->core(), now);
  if (events_.decided) events_.decided(*node_);
  CarryOut(std::move(actions));
  if (user_ != nullptr) user_->EndOfBatch();
  if (departure_.state() == Departure::State::kDraining && node_->drained() &&
      departure_.OnDrained(now)) {
    views_->Surrender();
  }
  if (on_retired_ != nullptr && node_->retired()) {
    std::exchange(on_retired_, nullptr)();
  }
  Report();
  const bool summarizing = node_->Summarize();
  return BringUndoCopyUpToDate() || summarizing;
}

bool Node::BringUndoCopyUpToDate() {
  const size_t step = std::min(propagation_step_(), pace_.step());
  const absl::Time began = Now();
  const bool more = node_->PropagateToBackup(step);
  pace_.Took(step, Now() - began);
  return more;
}

void Node::CarryOut(Actions actions) {
  if (!actions.fatal.ok()) return Fatal(std::move(actions.fatal));
  for (LinkId link : actions.close) links_->Close(link);
  for (const Actions::Open& open : actions.open) {
    links_->Open(open.link, open.member);
  }
  for (const Actions::Send& send : actions.send) {
    links_->Send(send.link, send.message, send.payload);
  }
  if (actions.fetch_view) views_->RequestView();
}

void Node::Fatal(absl::Status status) {
  LOG(ERROR) << "this node stops: " << status;
  events_.fatal(std::move(status));
}

NodeStanding Node::standing() const {
  const uint32_t bits = standing_bits_.load(std::memory_order_relaxed);
  return {(bits & kReadyBit) != 0, (bits & kLeaseBit) != 0,
          static_cast<membership::Role>(bits >> kRoleShift & 0xff),
          static_cast<membership::Condition>(bits >> kConditionShift),
          (bits & kUnlinkedBit) != 0};
}

void Node::NoteCondition(absl::Time now) {
  conditions_[static_cast<size_t>(condition_)].time += now - condition_since_;
  condition_since_ = now;
  const membership::Condition condition = node_->core().soundness().condition();
  if (condition == condition_) return;
  condition_ = condition;
  ++conditions_[static_cast<size_t>(condition)].times;
}

void Node::ReportRole() {
  const membership::View& view = node_->core().view();
  const membership::Role role = node_->core().place().role();
  const bool lease = view.formed() && views_->LeaseValid(view.id);
  const bool unlinked =
      node_->core().link_table().never_linked() >= kMostUnlinked;
  const bool ready = lease && !unlinked && node_->core().soundness().ready();
  standing_bits_.store((ready ? kReadyBit : 0) | (lease ? kLeaseBit : 0) |
                           (unlinked ? kUnlinkedBit : 0) |
                           static_cast<uint32_t>(role) << kRoleShift |
                           static_cast<uint32_t>(condition_) << kConditionShift,
                       std::memory_order_relaxed);
  const bool serves = lease && !unlinked;
  if (role == reported_role_ && serves == reported_serves_) return;
  reported_role_ = role;
  reported_serves_ = serves;
  events_.role(role, serves);
}

}  // namespace kamino::node
