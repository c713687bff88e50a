// What the managers of a cluster are to be started with alike. They find each
// other at etcd only: the one that leads says there what it goes by, and the
// others compare.
#ifndef KAMINO_MEMBERSHIP_MANAGER_SETTINGS_H_
#define KAMINO_MEMBERSHIP_MANAGER_SETTINGS_H_

#include <string>

#include "kamino/internal/v1/membership.pb.h"

namespace kamino::membership {

// In what another manager, which leads or led last, was started otherwise than
// this one, as a line; "": in nothing that their renewals tell.
std::string SettingsDiffer(const kamino::internal::v1::RenewalRecord& own,
                           const kamino::internal::v1::RenewalRecord& theirs);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_SETTINGS_H_
