// What etcd promises: keys with revisions, leases on its own clock, comparisons
// of the latest state. It may be down, and what it promised is kept.
#ifndef KAMINO_TESTS_SIMULATION_SIM_ETCD_H_
#define KAMINO_TESTS_SIMULATION_SIM_ETCD_H_

#include <cstdint>
#include <map>
#include <string>

#include "membership/etcd/etcd.h"
#include "tests/simulation/world.h"

namespace kamino::simulation {

class SimEtcd final : public Process, public membership::Etcd {
 public:
  explicit SimEtcd(World* world) : Process(world, "etcd") { Begin(); }

  // Down, with everything kept; up again, when every lease begins anew.
  void Stop();
  void Start();

  absl::StatusOr<int64_t> GrantLease(int64_t ttl_seconds) override;
  absl::Status KeepAlive(int64_t lease) override;
  absl::Status RevokeLease(int64_t lease) override;
  absl::StatusOr<Election> Campaign(const std::string& leader_key,
                                    const std::string& name, int64_t lease,
                                    const std::string& view_key) override;
  absl::StatusOr<Value> Replace(const std::string& view_key,
                                const std::string& value,
                                int64_t expected_revision,
                                const std::string& leader_key,
                                int64_t leader_revision) override;

  // The latest state, for checks.
  Value Read(const std::string& key) const;

 private:
  struct Lease {
    absl::Duration ttl;
    absl::Time until;
  };
  struct Key {
    Value value;
    int64_t lease;
  };

  void Expire();
  void Drop(int64_t lease);
  void Store(const std::string& key, const std::string& value, int64_t lease);

  int64_t revision_ = 0;
  int64_t next_lease_ = 1;
  std::map<int64_t, Lease> leases_;
  std::map<std::string, Key> keys_;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_SIM_ETCD_H_
