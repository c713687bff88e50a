// etcd's guarantees: keys with revisions, comparisons with the latest state. It
// may be down, and keeps its state.
//
// It also shows a weakness outside its guarantees: a member that led, and has
// not heard yet that another one leads, answers requests that need no quorum
// from its past (etcd issues 15247 and 20418): reads, and keep-alives while
// there were any.
#ifndef KAMINO_TESTS_SIMULATION_SIM_ETCD_H_
#define KAMINO_TESTS_SIMULATION_SIM_ETCD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "membership/etcd/etcd.h"
#include "tests/simulation/world.h"

namespace kamino::simulation {

class SimEtcd final : public Process, public membership::Etcd {
 public:
  explicit SimEtcd(World* world);
  ~SimEtcd() override;

  // Down, with everything kept; up again.
  void Stop();
  void Start();

  absl::StatusOr<Stored> Look(const Keys& keys) override;
  absl::StatusOr<Election> Campaign(const Keys& keys, const std::string& name,
                                    const std::string& renewal,
                                    int64_t leader_revision,
                                    int64_t renewal_revision) override;
  absl::StatusOr<Stored> Renew(const Keys& keys, const std::string& renewal,
                               const Leadership& leadership) override;
  absl::StatusOr<Value> Replace(const Keys& keys, const std::string& value,
                                int64_t expected_revision,
                                const Leadership& leadership) override;
  absl::Status Compact(int64_t revision) override;

  // The whole store at a moment; empty: nothing was ever stored.
  struct Copy {
    int64_t revision = 0;
    std::map<std::string, Value> values;
  };
  Copy TakeCopy() const { return {revision_, values_}; }
  // Replaces the store; only while etcd is down.
  void PutBack(const Copy& copy);

  // For that time one member, which led until now, continues alone, and these
  // callers are connected to it. It never answers a write.
  void DeposeMember(const std::set<std::string>& callers, absl::Duration time);
  // The member that `caller` is connected to.
  membership::Etcd* MemberOf(const std::string& caller);
  // The caller had no answer, and goes to another member.
  void Leave(const std::string& caller) { at_deposed_.erase(caller); }

  // The latest state, for checks.
  Value Read(const std::string& key) const { return ReadIn(values_, key); }
  // The value written last, even if an older store was put back since.
  std::string LastWritten(const std::string& key) const {
    return ReadIn(written_, key).value;
  }

 private:
  class DeposedMember;
  using Values = std::map<std::string, Value>;

  static Value ReadIn(const Values& values, const std::string& key);
  static Stored StoredIn(const Values& values, const Keys& keys);
  bool IsLeader(const Keys& keys, const Leadership& leadership) const;
  void EndDeposed();
  void Store(const std::string& key, const std::string& value);

  int64_t revision_ = 0;
  Values values_;
  Values written_;

  std::unique_ptr<DeposedMember> deposed_;  // while there is one
  std::set<std::string> at_deposed_;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_SIM_ETCD_H_
