// Views and members as messages.
#ifndef KAMINO_MEMBERSHIP_RECORDS_H_
#define KAMINO_MEMBERSHIP_RECORDS_H_

#include "kamino/internal/v1/membership.pb.h"
#include "membership/view.h"

namespace kamino::membership {

kamino::internal::v1::NodeInfo ToProto(const Member& member);
Member FromProto(const kamino::internal::v1::NodeInfo& node);
kamino::internal::v1::ViewRecord ToProto(const View& view);
kamino::internal::v1::NodeCondition ToProto(Condition condition);
kamino::internal::v1::Cursors ToProto(const Cursors& cursors);
Cursors FromProto(const kamino::internal::v1::Cursors& cursors);
// kUnknown for what this program does not know.
Condition FromProto(kamino::internal::v1::NodeCondition condition);
View FromProto(const kamino::internal::v1::ViewRecord& record);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_RECORDS_H_
