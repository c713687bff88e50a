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
    case EtcdCall::Kind::kLook:
      take(etcd->Look(call.keys), &answer.seen);
      break;
    case EtcdCall::Kind::kCampaign:
      take(etcd->Campaign(call.keys, call.leadership.name, call.renewal,
                          call.leadership.revision, call.renewal_revision),
           &answer.election);
      break;
    case EtcdCall::Kind::kRenew:
      take(etcd->Renew(call.keys, call.renewal, call.leadership), &answer.seen);
      break;
    case EtcdCall::Kind::kReplace:
      take(etcd->Replace(call.keys, call.view, call.expected_revision,
                         call.leadership),
           &answer.stored);
      break;
    case EtcdCall::Kind::kCompact:
      answer.status = etcd->Compact(call.compact_revision);
      break;
  }
  return answer;
}

}  // namespace kamino::membership
