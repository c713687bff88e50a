#include "membership/records.h"

namespace kamino::membership {

using kamino::internal::v1::NodeCondition;
using kamino::internal::v1::NodeInfo;
using kamino::internal::v1::ViewRecord;

NodeInfo ToProto(const Member& member) {
  NodeInfo node;
  node.set_node_id(member.node_id);
  node.set_incarnation(member.incarnation);
  node.set_service_address(member.service_address);
  node.mutable_link_addresses()->insert(member.link_addresses.begin(),
                                        member.link_addresses.end());
  node.set_heap_bytes(member.heap_bytes);
  node.set_heap_id(member.heap_id);
  node.mutable_agreement()->insert(member.agreement.begin(),
                                   member.agreement.end());
  return node;
}

Member FromProto(const NodeInfo& node) {
  Member member;
  member.node_id = node.node_id();
  member.incarnation = node.incarnation();
  member.service_address = node.service_address();
  member.link_addresses.insert(node.link_addresses().begin(),
                               node.link_addresses().end());
  member.heap_bytes = node.heap_bytes();
  member.heap_id = node.heap_id();
  member.agreement.insert(node.agreement().begin(), node.agreement().end());
  return member;
}

NodeCondition ToProto(Condition condition) {
  return static_cast<NodeCondition>(condition);
}

Condition FromProto(NodeCondition condition) {
  return kamino::internal::v1::NodeCondition_IsValid(condition)
             ? static_cast<Condition>(condition)
             : Condition::kUnknown;
}

kamino::internal::v1::Cursors ToProto(const Cursors& cursors) {
  kamino::internal::v1::Cursors record;
  record.set_received(cursors.received);
  record.set_applied(cursors.applied);
  record.set_cleaned(cursors.cleaned);
  return record;
}

Cursors FromProto(const kamino::internal::v1::Cursors& record) {
  return {record.received(), record.applied(), record.cleaned()};
}

ViewRecord ToProto(const View& view) {
  ViewRecord record;
  record.set_cluster_id(view.cluster_id);
  record.set_view_id(view.id);
  for (const Member& member : view.members)
    *record.add_nodes() = ToProto(member);
  for (const auto& [node_id, drain] : view.excluded) {
    auto* exclusion = record.add_excluded();
    exclusion->set_node_id(node_id);
    exclusion->set_drain(drain);
  }
  return record;
}

View FromProto(const ViewRecord& record) {
  View view;
  view.cluster_id = record.cluster_id();
  view.id = record.view_id();
  for (const NodeInfo& node : record.nodes()) {
    view.members.push_back(FromProto(node));
  }
  for (const auto& exclusion : record.excluded()) {
    view.excluded[exclusion.node_id()] = exclusion.drain();
  }
  return view;
}

}  // namespace kamino::membership
