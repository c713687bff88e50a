#include "membership/etcd/etcd_call.h"

#include <utility>

namespace kamino::membership {

EtcdAnswer CarryOut(const EtcdCall& call, Etcd* etcd) {
  EtcdAnswer answer;
  const auto take = [&answer](auto result, auto* value) {
    answer.status = result.status();
    if (result.ok()) *value = *std::move(result);
  };
  switch (call.kind) {
    case EtcdCall::Kind::kGrantLease:
      take(etcd->GrantLease(call.ttl_seconds), &answer.lease);
      break;
    case EtcdCall::Kind::kKeepAlive:
      answer.status = etcd->KeepAlive(call.lease);
      break;
    case EtcdCall::Kind::kRevokeLease:
      answer.status = etcd->RevokeLease(call.lease);
      break;
    case EtcdCall::Kind::kCampaign:
      take(etcd->Campaign(call.leader_key, call.value, call.lease,
                          call.view_key),
           &answer.election);
      break;
    case EtcdCall::Kind::kReplace:
      take(etcd->Replace(call.view_key, call.value, call.expected_revision,
                         call.leader_key, call.leader_revision),
           &answer.stored);
      break;
  }
  return answer;
}

}  // namespace kamino::membership
