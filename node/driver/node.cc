#include "node/driver/node.h"

#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "node/driver/node_agreement.h"
#include "replica/errors.h"

namespace kamino::node {
namespace {

using kamino::internal::v1::ChainMessage;
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

std::unique_ptr<ChainNode> MakeChainNode(
    NodeContext* context, const replica::ProcedureRegistry& procedures) {
  const NodeOptions& options = context->options;
  Storage& storage = *context->storage;
  ChainNode::Options chain;
  chain.chain = options.chain;
  chain.chain.stages = &context->meters.stages;
  chain.chain.heap_bytes = storage.heap()->region()->size();
  chain.chain.incarnation = storage.record()->state().incarnation;
  chain.chain.agreement = context->agreement;
  if (options.links.knows_peers) {
    chain.chain.identity_of = [context](uint64_t link) {
      return context->links->IdentityOf(link);
    };
  }
  chain.chain.max_entry_bytes =
      MaxEntryBytes(options.links.transport.max_message);
  chain.admission = options.admission;
  chain.admission.stages = &context->meters.stages;
  chain.admission.clock = context->clock;
  chain.snapshots = options.snapshots;
  chain.lease_valid = [views = context->views](uint64_t view_id) {
    return views->LeaseValid(view_id);
  };
  chain.doing = [context](absl::string_view what, uint64_t whose) {
    context->meters.activity.Doing(what, whose);
  };
  return std::make_unique<ChainNode>(std::move(chain), &storage, &procedures);
}

LinkHub::Events HubEvents(NodeContext* context) {
  LinkHub::Events events;
  events.opened = [context](LinkId link) {
    context->core->Post([context, link] {
      context->chain->OnLinkOpened(link, context->Now());
    });
  };
  events.closed = [context](LinkId link) {
    context->core->Post([context, link] {
      context->chain->OnLinkClosed(link, context->Now());
    });
  };
  events.message = [context](LinkId link, ChainMessage message,
                             absl::string_view payload, size_t bytes) {
    const bool ran = context->core->RunNow([&] {
      context->chain->OnMessage(link, message, payload, context->Now());
    });
    if (ran) return;
    context->core->PostAndWait(
        [context, link, message = std::move(message),
         kept = std::string(payload)] {
          context->chain->OnMessage(link, message, kept, context->Now());
        },
        bytes);
  };
  return events;
}

}  // namespace

Node::Node(std::unique_ptr<NodeContext> context)
    : context_(std::move(context)),
      request_limit_(options().max_pending_requests,
                     options().max_pending_bytes),
      standing_(context_.get()),
      planned_stop_(context_.get()),
      reports_(context_.get()),
      view_follower_(context_.get(), &planned_stop_, &reports_),
      core_hooks_(context_.get(), &standing_, &planned_stop_, &reports_) {}

absl::StatusOr<std::unique_ptr<Node>> Node::Create(
    NodeOptions options, NodeRuntime runtime, std::unique_ptr<Storage> storage,
    const replica::ProcedureRegistry* procedures, membership::ViewSource* views,
    Events events) {
  auto context = std::make_unique<NodeContext>(
      std::move(options), std::move(runtime), std::move(storage), views,
      std::move(events));
  context->agreement =
      AgreementOf(*context->storage, *procedures,
                  context->options.links.transport.max_message);
  context->chain = MakeChainNode(context.get(), *procedures);
  auto node = absl::WrapUnique(new Node(std::move(context)));
  if (absl::Status listens = node->Listen(); !listens.ok()) {
    node->restarts()->OnRefused();
    return listens;
  }
  return node;
}

absl::Status Node::Listen() {
  LinkHub::Options links = options().links;
  links.cluster_id = options().chain.cluster_id;
  links.node_id = node_id();
  links.transport.era = [this] { return view_board().current()->view_id(); };
  links.transport.loop = loop();
  ASSIGN_OR_RETURN(context_->links, LinkHub::Create(std::move(links),
                                                    HubEvents(context_.get())));
  context_->core->Start(core_hooks_.Hooks());
  return absl::OkStatus();
}

absl::Status Node::Join(const std::string& service_address,
                        const std::string& peer_address) {
  return view_follower_.Join(service_address, peer_address);
}

// The executor goes first: its tasks that did not run answer their requests as
// they are destroyed, which needs request_limit_.
Node::~Node() {
  Stop();
  context_->core.reset();
}

void Node::Stop() {
  if (std::exchange(stopped_, true)) return;
  context_->views->Stop();
  context_->core
      ->Stop();  // runs what was posted before; later posts are refused
  context_->links.reset();  // its threads may still try to post
  context_->chain->Stop();  // answers waiting requests, which may examine it
  context_->chain.reset();
}

void Node::Attach(CoreUser* user) {
  context_->core->Post([this, user] { core_hooks_.Attach(user); });
}

void Node::Mutate(head::Request request) {
  if (!request_limit_.Admit(&request)) return;
  context_->core->Post([this, owed = Owed(std::move(request))]() mutable {
    context_->chain->head().Submit(owed.Take(), Now());
  });
}

void Node::Submit(head::Request request) {
  if (request_limit_.Admit(&request)) {
    context_->chain->head().Submit(std::move(request), Now());
  }
}

bool Node::Run(absl::AnyInvocable<void(ChainNode&)> task) {
  return context_->core->Post([this, task = std::move(task)]() mutable {
    context_->meters.activity.Doing("a call");
    task(*context_->chain);
  });
}

bool Node::Read(absl::AnyInvocable<void(ChainNode&)> read) {
  return context_->core->PostRead([this, read = std::move(read)]() mutable {
    context_->meters.activity.Doing("a read");
    read(*context_->chain);
  });
}

}  // namespace kamino::node
