#include "membership/records.h"

#include <algorithm>
#include <cstdint>

namespace kamino::membership {

using kamino::internal::v1::ViewRecord;

namespace {

uint32_t Milliseconds(absl::Duration time) {
  return static_cast<uint32_t>(
      std::clamp<int64_t>(absl::ToInt64Milliseconds(time), 0, UINT32_MAX));
}

}  // namespace

kamino::v1::Role ToProto(Role role) {
  switch (role) {
    case Role::kHead:
      return kamino::v1::ROLE_HEAD;
    case Role::kMiddle:
      return kamino::v1::ROLE_MIDDLE;
    case Role::kTail:
      return kamino::v1::ROLE_TAIL;
    case Role::kSingle:
      return kamino::v1::ROLE_SINGLE;
    case Role::kOutside:
      break;
  }
  return kamino::v1::ROLE_OUTSIDE;
}

kamino::v1::ChainMode ToProto(ChainMode mode) {
  switch (mode) {
    case ChainMode::kKamino:
      return kamino::v1::CHAIN_MODE_KAMINO;
    case ChainMode::kTraditional:
      return kamino::v1::CHAIN_MODE_TRADITIONAL;
    case ChainMode::kImages:
      return kamino::v1::CHAIN_MODE_IMAGES;
  }
  return kamino::v1::CHAIN_MODE_UNSPECIFIED;
}

kamino::v1::Condition ToProto(Condition condition) {
  return static_cast<kamino::v1::Condition>(condition);
}

Condition FromProto(kamino::v1::Condition condition) {
  return kamino::v1::Condition_IsValid(condition)
             ? static_cast<Condition>(condition)
             : Condition::kUnknown;
}

kamino::internal::v1::Parting ToProto(StopPermission permission) {
  return static_cast<kamino::internal::v1::Parting>(permission);
}

StopPermission FromProto(kamino::internal::v1::Parting permission) {
  return kamino::internal::v1::Parting_IsValid(permission)
             ? static_cast<StopPermission>(permission)
             : StopPermission::kUnknown;
}

namespace {

// A later program's value that this one does not know.
Stopping FromProto(kamino::v1::Stopping stopping) {
  return kamino::v1::Stopping_IsValid(stopping)
             ? static_cast<Stopping>(stopping)
             : Stopping::kNo;
}

}  // namespace

kamino::v1::NodeReport ToProto(const NodeReport& report) {
  kamino::v1::NodeReport message;
  message.set_view_id(report.view_id);
  message.set_condition(ToProto(report.condition));
  message.set_caught_up_view_id(report.caught_up_view);
  message.mutable_cursors()->set_received(report.cursors.received);
  message.mutable_cursors()->set_applied(report.cursors.applied);
  message.mutable_cursors()->set_cleaned(report.cursors.cleaned);
  message.set_append_debt_ms(Milliseconds(report.append_wait));
  message.set_completion_debt_ms(Milliseconds(report.completion_wait));
  message.set_view_digest(report.view_digest);
  message.set_member_view_id(report.member_view);
  message.set_view_epoch(report.view_epoch);
  message.set_heap_id(report.heap_id);
  message.set_cluster_uuid(report.cluster_uuid);
  message.set_epoch(report.epoch);
  message.set_late_ms(Milliseconds(report.late));
  message.set_disputed(report.disputed);
  message.set_restarts(report.restarts);
  message.set_transfer_pass(report.transfer_pass);
  message.set_transfer_bytes_left(report.transfer_bytes_left);
  message.set_transfer_pages(report.transfer_pages);
  message.set_call(report.call);
  message.set_process(report.process);
  message.set_release(report.release);
  message.set_stopping(static_cast<kamino::v1::Stopping>(report.stopping));
  return message;
}

NodeReport FromProto(const kamino::v1::NodeReport& message) {
  const kamino::v1::Cursors& cursors = message.cursors();
  return {message.view_id(),
          FromProto(message.condition()),
          message.caught_up_view_id(),
          {cursors.received(), cursors.applied(), cursors.cleaned()},
          absl::Milliseconds(message.append_debt_ms()),
          absl::Milliseconds(message.completion_debt_ms()),
          message.view_digest(),
          message.member_view_id(),
          message.view_epoch(),
          message.heap_id(),
          message.cluster_uuid(),
          message.epoch(),
          absl::Milliseconds(message.late_ms()),
          message.disputed(),
          message.restarts(),
          message.transfer_pass(),
          message.transfer_bytes_left(),
          message.transfer_pages(),
          message.process(),
          message.call(),
          message.release().substr(0, kMaxReleaseBytes),
          FromProto(message.stopping())};
}

kamino::v1::Member ToProto(const Member& member) {
  kamino::v1::Member message;
  message.set_node_id(member.node_id);
  message.set_address(member.service_address);
  kamino::v1::NodeInstance& instance = *message.mutable_instance();
  instance.set_incarnation(member.incarnation);
  instance.mutable_link_addresses()->insert(member.link_addresses.begin(),
                                            member.link_addresses.end());
  instance.set_heap_bytes(member.heap_bytes);
  instance.set_heap_id(member.heap_id);
  ToMessage(member.agreement, instance.mutable_agreement_ranges());
  instance.set_identity(member.identity);
  return message;
}

Member FromProto(const kamino::v1::Member& message) {
  const kamino::v1::NodeInstance& instance = message.instance();
  Member member;
  member.node_id = message.node_id();
  member.incarnation = instance.incarnation();
  member.service_address = message.address();
  member.link_addresses.insert(instance.link_addresses().begin(),
                               instance.link_addresses().end());
  member.heap_bytes = instance.heap_bytes();
  member.heap_id = instance.heap_id();
  member.agreement = AgreementFrom(instance.agreement_ranges());
  member.identity = instance.identity();
  return member;
}

kamino::v1::Member PublicMember(const View& view, int index) {
  const Member& member = view.members[static_cast<size_t>(index)];
  kamino::v1::Member message;
  message.set_node_id(member.node_id);
  message.set_address(member.service_address);
  message.set_role(ToProto(view.RoleAt(index)));
  return message;
}

ViewRecord ToProto(const View& view) {
  ViewRecord record;
  record.set_cluster_id(view.cluster_id);
  record.set_chain_id(view.chain_id);
  record.set_view_id(view.id);
  for (const Member& member : view.members) {
    *record.add_members() = ToProto(member);
  }
  for (const auto& [node_id, drain] : view.excluded) {
    auto* exclusion = record.add_excluded();
    exclusion->set_node_id(node_id);
    exclusion->set_drain(drain);
  }
  record.mutable_in_force()->insert(view.in_force.begin(), view.in_force.end());
  record.set_digest(view.digest);
  record.mutable_ancestors()->Add(view.ancestors.begin(), view.ancestors.end());
  record.set_cluster_uuid(view.cluster_uuid);
  record.set_epoch(view.epoch);
  record.mutable_recovered_at()->insert(view.recovered_at.begin(),
                                        view.recovered_at.end());
  for (const auto& [node_id, away] : view.away) {
    kamino::internal::v1::Away* message = record.add_away();
    message->set_node_id(node_id);
    message->set_incarnation(away.incarnation);
    message->set_heap_id(away.heap_id);
    message->set_view_id(away.view_id);
    message->set_was_head(away.was_head);
  }
  return record;
}

View FromProto(const ViewRecord& record) {
  View view;
  view.cluster_id = record.cluster_id();
  view.chain_id = record.chain_id();
  view.id = record.view_id();
  for (const kamino::v1::Member& member : record.members()) {
    view.members.push_back(FromProto(member));
  }
  for (const auto& exclusion : record.excluded()) {
    view.excluded[exclusion.node_id()] = exclusion.drain();
  }
  view.in_force.insert(record.in_force().begin(), record.in_force().end());
  view.digest = record.digest();
  view.ancestors.assign(record.ancestors().begin(), record.ancestors().end());
  view.cluster_uuid = record.cluster_uuid();
  view.epoch = record.epoch();
  view.recovered_at.insert(record.recovered_at().begin(),
                           record.recovered_at().end());
  for (const auto& away : record.away()) {
    view.away[away.node_id()] = {away.incarnation(), away.heap_id(),
                                 away.view_id(), away.was_head()};
  }
  return view;
}

kamino::internal::v1::Progress ToProto(const Progress& progress,
                                       ChainId chain_id) {
  kamino::internal::v1::Progress message;
  message.set_cluster_uuid(progress.cluster_uuid);
  message.set_chain_id(chain_id);
  message.set_epoch(progress.epoch);
  message.set_view_id(progress.view_id);
  message.set_acknowledged(progress.acknowledged);
  return message;
}

Progress FromProto(const kamino::internal::v1::Progress& message) {
  return {message.cluster_uuid(), message.epoch(), message.view_id(),
          message.acknowledged()};
}

}  // namespace kamino::membership
