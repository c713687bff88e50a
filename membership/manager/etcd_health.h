// Tells whether etcd answers a manager, from the result of the manager's last
// call.
//
// Not thread-safe: the manager's mutex guards it.
#ifndef KAMINO_MEMBERSHIP_MANAGER_ETCD_HEALTH_H_
#define KAMINO_MEMBERSHIP_MANAGER_ETCD_HEALTH_H_

#include "absl/status/status.h"

namespace kamino::membership {

class EtcdHealth {
 public:
  // A call to etcd has ended with `answered`. kAborted is an answer, too: etcd
  // refuses the transaction.
  void OnAnswer(const absl::Status& answered);

  // Not OK: the last call failed, or there was none.
  absl::Status Check() const;
  // Adds the last call's failure to a status that says that no manager leads.
  absl::Status Explain(const absl::Status& status) const;

 private:
  absl::Status failure_;   // of the last call
  bool answered_ = false;  // ever
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_ETCD_HEALTH_H_
