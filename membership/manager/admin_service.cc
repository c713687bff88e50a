#include "membership/manager/admin_service.h"

#include <algorithm>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/ids.h"
#include "base/status_macros.h"
#include "membership/manager/finalizing.h"
#include "membership/manager/recovery_plan.h"
#include "membership/manager/removals.h"
#include "membership/records.h"
#include "rpc/answer.h"
#include "rpc/call_guard.h"
#include "rpc/cluster_calls.h"
#include "rpc/redirect.h"

namespace kamino::membership {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using kamino::v1::ClusterNode;
using logs::AuditThread;

template <typename Request>
constexpr bool kOnlyLooks =
    std::is_same_v<Request, kamino::v1::GetClusterRequest> ||
    std::is_same_v<Request, kamino::v1::GetManagerRequest>;

bool IsMember(const std::string& node_id, const View& view) {
  return std::any_of(
      view.members.begin(), view.members.end(),
      [&](const Member& each) { return each.node_id == node_id; });
}

void Describe(const Member& member, const View& view, ClusterNode* node) {
  *node->mutable_member() = ToProto(member);
  node->mutable_member()->set_role(
      ToProto(view.RoleOf(member.node_id, member.incarnation)));
  const auto excluded = view.excluded.find(member.node_id);
  if (excluded == view.excluded.end()) return;
  const bool drains = excluded->second && IsMember(member.node_id, view);
  node->set_removed(!drains);
  node->set_draining(drains);
}

void Describe(const ManagerCore::Known& known, ClusterNode* node) {
  node->set_alive(known.state.alive);
  node->set_silent_ms(
      static_cast<uint64_t>(absl::ToInt64Milliseconds(known.silent)));
  *node->mutable_report() = ToProto(known.state.report);
  node->set_joining(known.joining);
  node->set_suspect(known.suspect);
  node->set_kept_out_ms(
      static_cast<uint64_t>(absl::ToInt64Milliseconds(known.kept_out)));
  node->set_former_lease_ms(
      static_cast<uint64_t>(absl::ToInt64Milliseconds(known.former_lease)));
}

uint64_t Milliseconds(absl::Duration time) {
  return static_cast<uint64_t>(absl::ToInt64Milliseconds(time));
}

// Describes the nodes that are away, even if nothing else is known of them.
void DescribeAway(const ManagerCore& core, absl::Time now,
                  kamino::v1::GetClusterResponse* response) {
  for (const auto& [node_id, time] : core.places().away_times(now)) {
    const absl::Duration left = core.places().AwayLeft(node_id, now);
    if (left == absl::ZeroDuration()) continue;
    ClusterNode* described = nullptr;
    for (ClusterNode& node : *response->mutable_nodes()) {
      if (node.member().node_id() == node_id) described = &node;
    }
    if (described == nullptr) {
      described = response->add_nodes();
      described->mutable_member()->set_node_id(node_id);
      described->mutable_member()->set_role(kamino::v1::ROLE_OUTSIDE);
      described->mutable_report();
      described->set_silent_ms(Milliseconds(time));
    }
    // A returned node joins, or is about to.
    described->set_away(!described->alive());
    described->set_away_ms(Milliseconds(time));
    described->set_away_left_ms(Milliseconds(left));
  }
}

void Describe(const RecoveryPlan& recovery,
              kamino::v1::RecoverResponse* response) {
  response->set_view_id(recovery.view.id);
  response->set_complete(recovery.complete);
  response->set_epoch(recovery.view.epoch);
  if (recovery.holds > 0) {
    response->set_holds(recovery.holds);
    response->set_acknowledged(recovery.acknowledged);
  }
  for (size_t i = 0; i < recovery.view.members.size(); ++i) {
    *response->add_members() = PublicMember(recovery.view, static_cast<int>(i));
  }
}

void Describe(const std::vector<Rise>& rises,
              google::protobuf::RepeatedPtrField<kamino::v1::Rise>* messages) {
  for (const Rise& rise : rises) {
    kamino::v1::Rise* message = messages->Add();
    message->set_name(rise.name);
    message->set_from(rise.from);
    message->set_to(rise.to);
  }
}

}  // namespace

void Describe(const ManagerCore& core, absl::Time now,
              kamino::v1::GetClusterResponse* response) {
  const View& view = core.view();
  response->set_cluster_id(core.options().cluster_id);
  response->set_chain_id(core.options().chain_id);
  response->set_view_id(view.id);
  response->set_chain_length(
      static_cast<uint32_t>(core.options().chain_length));
  const auto known = core.nodes(now);
  std::set<std::string> described;
  for (const Member& member : view.members) {
    ClusterNode* node = response->add_nodes();
    Describe(member, view, node);
    for (const auto& each : known) {
      if (each.state.member.node_id != member.node_id) continue;
      // It may have been restarted since: it keeps its place as its present
      // process.
      const kamino::v1::Role role = node->member().role();
      *node->mutable_member() = ToProto(each.state.member);
      node->mutable_member()->set_role(role);
      Describe(each, node);
      described.insert(member.node_id);
    }
  }
  for (const auto& each : known) {
    if (described.count(each.state.member.node_id) > 0) continue;
    ClusterNode* node = response->add_nodes();
    Describe(each.state.member, view, node);
    Describe(each, node);
  }
  DescribeAway(core, now, response);
  for (const std::string& node : core.registry().WaitingFor(now)) {
    response->add_waiting_for(node);
  }
  response->set_nodes_missing(
      static_cast<uint32_t>(core.registry().NodesMissing(now)));
  response->set_store_behind(core.watch().WhyBehind());
  response->set_waits_for_newer(core.old_copies().WhyWaits(now));
  response->set_acknowledged(core.old_copies().progress().acknowledged);
  for (const auto& [id, refusal] : core.refusals().Lately(now)) {
    kamino::v1::RefusedNode* refused = response->add_refused();
    refused->set_node_id(id);
    refused->set_why(refusal.why);
    refused->set_ms_ago(
        static_cast<uint64_t>(absl::ToInt64Milliseconds(now - refusal.at)));
  }
  response->set_epoch(view.epoch);
  if (view.formed()) response->set_chain_mode(ToProto(view.mode()));
  Describe(NotFinalized(core.view()), response->mutable_not_finalized());
  response->set_cluster_uuid(absl::BytesToHexString(view.cluster_uuid));
}

template <typename Request>
AdminService::Call<Request> AdminService::CallOf(CallbackServerContext* context,
                                                 const Request* request) {
  return {context, request, context->DefaultReactor(), MonotonicNow()};
}

template <typename Request>
absl::Status AdminService::Admit(const Call<Request>& call) {
  if (call.context->IsCancelled()) {
    return absl::CancelledError(
        "nothing was done: the caller has cancelled the call");
  }
  // `kamino admin` calls the managers before it knows their cluster.
  RETURN_IF_ERROR(rpc::MeetCaller(manager_->cluster(), call.context,
                                  /*counts_unnamed=*/!kOnlyLooks<Request>));
  return options_.audit == nullptr ? absl::OkStatus() : options_.audit->Admit();
}

template <typename Request>
void AdminService::Begin(const Call<Request>& call, Act act) {
  const auto admit_and_act =
      [this, call, act = std::move(act)](const AuditThread::PlacePtr& place) {
        if (const absl::Status may = Admit(call); !may.ok())
          return End(call, may);
        act(place);
      };
  if (options_.audit_thread == nullptr) return admit_and_act(nullptr);
  const absl::Status begun = options_.audit_thread->Begin(
      [this, call, admit_and_act](const AuditThread::PlacePtr& place,
                                  const absl::Status& admitted) {
        if (admitted.ok()) return admit_and_act(place);
        End(call, admitted, /*waits=*/false);
      });
  if (!begun.ok()) Refuse(call, begun);
}

template <typename Request>
ServerUnaryReactor* AdminService::Administer(
    CallbackServerContext* context, const Request* request,
    std::function<absl::Status(ManagerCore*, absl::Time)> administer) {
  const Call<Request> call = CallOf(context, request);
  Begin(call, [this, call, administer = std::move(administer)](
                  const AuditThread::PlacePtr&) {
    End(call, manager_->Administer(administer));
  });
  return call.reactor;
}

template <typename Request>
server::AuditRecord AdminService::RecordOf(const Call<Request>& call,
                                           const absl::Status& status) {
  server::AuditRecord record;
  record.who = rpc::IdentityOf(*call.context);
  record.from = rpc::PeerAddressOf(*call.context);
  record.call = rpc::MethodOf(*Request::descriptor());
  record.arguments = call.request->ShortDebugString();
  record.outcome = status;
  record.changes = !kOnlyLooks<Request>;
  return record;
}

template <typename Request>
void AdminService::End(const Call<Request>& call, const absl::Status& status,
                       bool waits) {
  if (options_.audit == nullptr) return Answer(call, status);
  const absl::Status audited =
      options_.audit->Add(RecordOf(call, status), waits);
  if (!status.ok() || audited.ok()) return Answer(call, status);
  Answer(call, absl::FailedPreconditionError(absl::StrCat(
                   "the call ", rpc::MethodOf(*Request::descriptor()),
                   " was carried out, but ", audited.message())));
}

template <typename Request>
void AdminService::Refuse(const Call<Request>& call,
                          const absl::Status& status) {
  options_.audit->AddToLog(RecordOf(call, status));
  Answer(call, status);
}

template <typename Request>
void AdminService::Answer(const Call<Request>& call,
                          const absl::Status& status) {
  absl::Status told = status;
  if (options_.apart) {
    told = options_.port_of_all == 0
               ? rpc::WithoutLeader(told)
               : rpc::WithLeadersPort(told, options_.port_of_all);
  }
  rpc::Finish<Request>(call.reactor, call.began, told);
}

ServerUnaryReactor* AdminService::GetCluster(
    CallbackServerContext* context,
    const kamino::v1::GetClusterRequest* request,
    kamino::v1::GetClusterResponse* response) {
  return Administer(
      context, request, [=, this](ManagerCore* core, absl::Time now) {
        if (!request->cluster_id().empty() &&
            request->cluster_id() != core->options().cluster_id) {
          return absl::NotFoundError(absl::StrCat(
              "this is the manager of cluster ", core->options().cluster_id));
        }
        RETURN_IF_ERROR(
            CheckChain(request->chain_id(), core->options().chain_id));
        Describe(*core, now, response);
        response->set_leader(manager_->name());
        return absl::OkStatus();
      });
}

ServerUnaryReactor* AdminService::RemoveNode(
    CallbackServerContext* context,
    const kamino::v1::RemoveNodeRequest* request,
    kamino::v1::AdminResponse* response) {
  const Removal how = request->drain()   ? Removal::kDrain
                      : request->force() ? Removal::kForced
                                         : Removal::kNow;
  return Administer(context, request, [=](ManagerCore* core, absl::Time now) {
    RETURN_IF_ERROR(CheckChain(request->chain_id(), core->options().chain_id));
    response->set_chain_id(core->options().chain_id);
    return core->removals().Exclude(request->node_id(), how, now);
  });
}

ServerUnaryReactor* AdminService::AddNode(
    CallbackServerContext* context, const kamino::v1::AddNodeRequest* request,
    kamino::v1::AdminResponse* response) {
  return Administer(context, request, [=](ManagerCore* core, absl::Time) {
    RETURN_IF_ERROR(CheckChain(request->chain_id(), core->options().chain_id));
    if (!IsId(request->node_id())) {
      return absl::InvalidArgumentError(
          absl::StrCat("node_id must be ", kIdRule, ", not \"",
                       Escape(request->node_id()), "\""));
    }
    response->set_chain_id(core->options().chain_id);
    core->removals().Include(request->node_id());
    return absl::OkStatus();
  });
}

ServerUnaryReactor* AdminService::Recover(
    CallbackServerContext* context, const kamino::v1::RecoverRequest* request,
    kamino::v1::RecoverResponse* response) {
  if (!request->confirmed()) {
    return Administer(
        context, request,
        [=](ManagerCore* core, absl::Time now) -> absl::Status {
          RETURN_IF_ERROR(
              CheckChain(request->chain_id(), core->options().chain_id));
          response->set_chain_id(core->options().chain_id);
          ASSIGN_OR_RETURN(const auto planned, core->recoveries().Plan(now));
          Describe(planned, response);
          return absl::OkStatus();
        });
  }
  const Call<kamino::v1::RecoverRequest> call = CallOf(context, request);
  Begin(call, [=, this](const AuditThread::PlacePtr& place) {
    const absl::Status asked =
        manager_->Administer([&](ManagerCore* core, absl::Time) {
          RETURN_IF_ERROR(
              CheckChain(request->chain_id(), core->options().chain_id));
          response->set_chain_id(core->options().chain_id);
          return absl::OkStatus();
        });
    if (!asked.ok()) return End(call, asked);
    manager_->Recover(
        request->force(), [=, this](const absl::StatusOr<RecoveryPlan>& done) {
          if (done.ok()) Describe(*done, response);
          response->set_confirmed(done.ok());
          if (place == nullptr) return End(call, done.status());
          // The manager's thread must not wait for the line.
          options_.audit_thread->Continue(
              place,
              [this, call, status = done.status()] { End(call, status); });
        });
  });
  return call.reactor;
}

ServerUnaryReactor* AdminService::Finalize(
    CallbackServerContext* context, const kamino::v1::FinalizeRequest* request,
    kamino::v1::FinalizeResponse* response) {
  return Administer(context, request, [=](ManagerCore* core, absl::Time now) {
    RETURN_IF_ERROR(CheckChain(request->chain_id(), core->options().chain_id));
    response->set_chain_id(core->options().chain_id);
    Describe(NotFinalized(core->view()), response->mutable_rises());
    if (!request->confirmed()) return absl::OkStatus();
    response->set_confirmed(true);
    return core->finalizing().Finalize(request->force(), now);
  });
}

ServerUnaryReactor* AdminService::GetManager(
    CallbackServerContext* context,
    const kamino::v1::GetManagerRequest* request,
    kamino::v1::GetManagerResponse* response) {
  const Call<kamino::v1::GetManagerRequest> call = CallOf(context, request);
  Begin(call, [=, this](const AuditThread::PlacePtr&) {
    manager_->Describe(response);
    End(call, absl::OkStatus());
  });
  return call.reactor;
}

}  // namespace kamino::membership
