// The settings that all managers of a cluster should share. Managers know each
// other only by etcd: the leader stores its settings there, and the others
// compare.
#ifndef KAMINO_MEMBERSHIP_MANAGER_MANAGER_SETTINGS_H_
#define KAMINO_MEMBERSHIP_MANAGER_MANAGER_SETTINGS_H_

#include <string>

#include "kamino/internal/v1/membership.pb.h"

namespace kamino::membership {

// The settings in which another manager, the present or last leader, differs
// from this one, on one line; "": none of those in the renewals.
std::string SettingsDiffer(const kamino::internal::v1::RenewalRecord& own,
                           const kamino::internal::v1::RenewalRecord& theirs);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_MANAGER_SETTINGS_H_
