// What etcd promises: keys with revisions, comparisons of the latest state. It
// may be down, and what it promised is kept.
//
// And what it does beyond its promises: a member that led, and has not heard
// yet that another one leads, answers what needs no quorum from its past (etcd
// issues 15247 and 20418): looks, and keep-alives while there were any.
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

  // All that is stored, at a moment; empty: nothing ever was.
  struct Copy {
    int64_t revision = 0;
    std::map<std::string, Value> values;
  };
  Copy TakeCopy() const { return {revision_, values_}; }
  // Takes the place of what is stored; while it is down.
  void PutBack(const Copy& copy);

  // For that time one member, which led until now, goes on alone, and these
  // are connected to it. What it is asked to write is never answered.
  void DeposeMember(const std::set<std::string>& callers, absl::Duration time);
  // The member that `caller` is connected to.
  membership::Etcd* MemberOf(const std::string& caller);
  // It has had no answer, and goes to another one.
  void Leave(const std::string& caller) { at_deposed_.erase(caller); }

  // The latest state, for checks.
  Value Read(const std::string& key) const { return ReadIn(values_, key); }
  // What was written last, whatever was put back since.
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
