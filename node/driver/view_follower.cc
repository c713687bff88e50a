#include "node/driver/view_follower.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "glog/logging.h"
#include "node/driver/restart_policy.h"
#include "replica/log/node_record.h"

namespace kamino::node {

using membership::Member;
using membership::View;

absl::Status ViewFollower::Join(const std::string& service_address,
                                const std::string& peer_address) {
  const Member self = Self(service_address, peer_address);
  membership::ViewSourceCallbacks callbacks = Callbacks();
  context_.views->RestBeforeStart(Rest());
  // The report for the registration; the core thread has done nothing yet.
  context_.views->SetReport(context_.chain->report());
  return context_.views->Start(self, std::move(callbacks));
}

Member ViewFollower::Self(const std::string& service_address,
                          const std::string& peer_address) const {
  Member self;
  self.node_id = context_.options.chain.node_id;
  self.incarnation = context_.storage->record()->state().incarnation;
  self.service_address = service_address;
  const bool apart = !peer_address.empty();
  self.link_addresses =
      context_.links->Addresses(apart ? peer_address : service_address);
  if (apart) self.link_addresses[membership::kPeerCalls] = peer_address;
  self.heap_bytes = context_.storage->heap()->region()->size();
  self.heap_id = replica::BytesOf(context_.storage->record()->state().heap_id);
  self.agreement = context_.agreement;
  return self;
}

membership::ViewSourceCallbacks ViewFollower::Callbacks() {
  membership::ViewSourceCallbacks callbacks;
  callbacks.on_view = [this](const View& view) {
    context_.core->Post([this, view] { OnView(view); });
  };
  callbacks.on_stop_permission = [this](membership::StopPermission permission) {
    context_.core->Post([this, permission] {
      planned_stop_.OnStopPermission(permission, context_.Now());
    });
  };
  callbacks.on_invited = [this](bool invited) {
    context_.core->Post([this, invited] {
      context_.chain->OnInvited(invited, context_.Now());
    });
  };
  callbacks.on_refused = [this](absl::Status status) {
    context_.core->Post([this, status = std::move(status)] {
      context_.storage->restarts()->OnRefused();
      context_.events.fatal(status);
    });
  };
  return callbacks;
}

absl::Duration ViewFollower::Rest() const {
  const replica::NodeState& state = context_.storage->record()->state();
  const uint32_t restarts = state.restarts;
  // If it was the whole chain, a delay does not help any other node.
  const absl::Duration rest =
      state.alone ? absl::ZeroDuration()
                  : DelayAfter(context_.options.restarts, restarts);
  if (rest > absl::ZeroDuration()) {
    LOG(WARNING) << "node " << context_.options.chain.node_id << " has died "
                 << restarts
                 << " times, each time soon after its start; it waits for "
                 << rest << " before it registers";
  }
  return rest;
}

void ViewFollower::OnView(const View& view) {
  ChainNode& chain = *context_.chain;
  const uint64_t before = chain.core().view().id;
  context_.cluster->Set(view.cluster_id,
                        absl::BytesToHexString(view.cluster_uuid));
  // Requests that wait for what this node can no longer do are redirected.
  const bool stays =
      view.IndexOf(context_.options.chain.node_id, chain.incarnation()) >= 0;
  if (!stays) context_.view_board.Publish(view);
  chain.OnView(view, context_.Now());
  if (chain.core().view().id != before) {
    ++view_changes_;
    context_.links->Expect(chain.core().view().members);
  }
  if (stays) context_.view_board.Publish(view);
  if (context_.events.view != nullptr) context_.events.view(view);
  planned_stop_.OnView();
  reports_.Report();
}

}  // namespace kamino::node
