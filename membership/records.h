// Converts views, members and reports to messages and back.
#ifndef KAMINO_MEMBERSHIP_RECORDS_H_
#define KAMINO_MEMBERSHIP_RECORDS_H_

#include "kamino/internal/v1/membership.pb.h"
#include "kamino/v1/member.pb.h"
#include "membership/node_report.h"
#include "membership/progress.h"
#include "membership/view.h"

namespace kamino::membership {

kamino::v1::Role ToProto(Role role);

kamino::v1::ChainMode ToProto(ChainMode mode);

kamino::v1::Condition ToProto(Condition condition);
// kUnknown if this program does not know the value.
Condition FromProto(kamino::v1::Condition condition);

kamino::internal::v1::Parting ToProto(StopPermission permission);
// As above.
StopPermission FromProto(kamino::internal::v1::Parting permission);

kamino::v1::NodeReport ToProto(const NodeReport& report);
NodeReport FromProto(const kamino::v1::NodeReport& message);

// All of a member except its role, which depends on the view.
kamino::v1::Member ToProto(const Member& member);
Member FromProto(const kamino::v1::Member& message);
// The member at `index` as clients receive it: id, address and role.
kamino::v1::Member PublicMember(const View& view, int index);

kamino::internal::v1::ViewRecord ToProto(const View& view);
View FromProto(const kamino::internal::v1::ViewRecord& record);

kamino::internal::v1::Progress ToProto(const Progress& progress,
                                       ChainId chain_id);
Progress FromProto(const kamino::internal::v1::Progress& message);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_RECORDS_H_
