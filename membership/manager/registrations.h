// Admits nodes: checks their registrations and heartbeats, and notes them.
#ifndef KAMINO_MEMBERSHIP_MANAGER_REGISTRATIONS_H_
#define KAMINO_MEMBERSHIP_MANAGER_REGISTRATIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "membership/manager/common_settings.h"
#include "membership/manager/manager_context.h"
#include "membership/manager/node_registry.h"
#include "membership/manager/old_copies.h"
#include "membership/manager/refusals.h"
#include "membership/manager/removals.h"
#include "membership/manager/store_watch.h"
#include "membership/node_report.h"
#include "membership/view.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic.
class Registrations {
 public:
  // Limits of a registration.
  static constexpr size_t kMaxNameBytes = 128;
  static constexpr size_t kMaxLinkAddresses = 8;
  static constexpr size_t kHeapIdBytes = 16;

  struct Beat {
    std::string node_id;
    uint64_t incarnation = 0;
    NodeReport report;
  };

  Registrations(const ManagerContext* context, NodeRegistry* registry,
                StoreWatch* watch, OldCopies* copies, Removals* removals)
      : context_(context),
        registry_(registry),
        watch_(watch),
        copies_(copies),
        removals_(removals),
        settings_(context, registry) {}

  // Both as in ManagerCore.
  absl::Status Register(const std::string& cluster_id, const Member& member,
                        const NodeReport& report, const View& newest,
                        absl::Time now);
  absl::Status Heartbeat(const std::string& cluster_id, const Beat& beat,
                         absl::Time now);

  // Nodes whose registration has failed permanently.
  const Refusals& refusals() const { return refusals_; }
  void ForgetRefusals() { refusals_.Clear(); }
  // The view of the context is stored: nodes that do not fit its levels in
  // force must register again.
  void OnView() { settings_.ForgetMismatches(); }

 private:
  using Node = NodeRegistry::Node;

  absl::Status TakeIn(const std::string& cluster_id, const Member& member,
                      const NodeReport& report, const View& newest,
                      absl::Time now);
  absl::Status CheckMember(const std::string& cluster_id,
                           const Member& member) const;
  // Not OK: the report is impossible.
  absl::Status CheckClaims(const Member& member,
                           const NodeReport& report) const;
  absl::Status CheckCluster(const Member& member,
                            const NodeReport& report) const;

  const ManagerContext* const context_;
  NodeRegistry* const registry_;
  StoreWatch* const watch_;
  OldCopies* const copies_;
  Removals* const removals_;
  CommonSettings settings_;
  Refusals refusals_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_REGISTRATIONS_H_
