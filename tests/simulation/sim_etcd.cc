#include "tests/simulation/sim_etcd.h"

#include <utility>

#include "tests/faults/fault.h"

namespace kamino::simulation {

// It keeps the state of the moment when it was deposed.
class SimEtcd::DeposedMember final : public membership::Etcd {
 public:
  explicit DeposedMember(Values past) : past_(std::move(past)) {}

  absl::StatusOr<Stored> Look(const Keys& keys) override {
    return StoredIn(past_, keys);
  }
  absl::StatusOr<Election> Campaign(const Keys&, const std::string&,
                                    const std::string&, int64_t,
                                    int64_t) override {
    return Silence();
  }
  absl::StatusOr<Stored> Renew(const Keys& keys, const std::string&,
                               const Leadership& leadership) override {
    if (faults::FaultPlanted("membership-leads-by-keep-alives") &&
        ReadIn(past_, keys.leader).mod_revision == leadership.revision) {
      return StoredIn(past_, keys);
    }
    return Silence();
  }
  absl::StatusOr<Value> Replace(const Keys&, const std::string&, int64_t,
                                const Leadership&) override {
    return Silence();
  }
  absl::Status Compact(int64_t) override { return Silence(); }

 private:
  static absl::Status Silence() {
    return absl::DeadlineExceededError("no quorum");
  }

  const Values past_;
};

SimEtcd::SimEtcd(World* world) : Process(world, "etcd") { Begin(); }
SimEtcd::~SimEtcd() = default;

void SimEtcd::DeposeMember(const std::set<std::string>& callers,
                           absl::Duration time) {
  if (deposed_ != nullptr) return;
  Trace("a member is deposed for ", absl::FormatDuration(time));
  deposed_ = std::make_unique<DeposedMember>(values_);
  at_deposed_ = callers;
  world()->After(time, [this] { EndDeposed(); });
}

void SimEtcd::EndDeposed() {
  Trace("the member that was deposed knows it");
  deposed_.reset();
  at_deposed_.clear();
}

membership::Etcd* SimEtcd::MemberOf(const std::string& caller) {
  if (deposed_ != nullptr && at_deposed_.count(caller) > 0) {
    return deposed_.get();
  }
  return this;
}

void SimEtcd::Stop() {
  Trace("etcd stops");
  End();
}

void SimEtcd::PutBack(const Copy& copy) {
  Trace("is put back to revision ", copy.revision);
  revision_ = copy.revision;
  values_ = copy.values;
  deposed_.reset();
  at_deposed_.clear();
}

void SimEtcd::Start() {
  Trace("etcd starts");
  Begin();
}

void SimEtcd::Store(const std::string& key, const std::string& value) {
  values_[key] = {value, revision_};
  written_[key] = values_[key];
}

membership::Etcd::Value SimEtcd::ReadIn(const Values& values,
                                        const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? Value() : found->second;
}

membership::Etcd::Stored SimEtcd::StoredIn(const Values& values,
                                           const Keys& keys) {
  return {ReadIn(values, keys.leader), ReadIn(values, keys.renewal),
          ReadIn(values, keys.view)};
}

bool SimEtcd::IsLeader(const Keys& keys, const Leadership& leadership) const {
  const Value leader = Read(keys.leader);
  return leader.mod_revision == leadership.revision &&
         leader.value == leadership.name;
}

absl::StatusOr<membership::Etcd::Stored> SimEtcd::Look(const Keys& keys) {
  return StoredIn(values_, keys);
}

absl::StatusOr<membership::Etcd::Election> SimEtcd::Campaign(
    const Keys& keys, const std::string& name, const std::string& renewal,
    int64_t leader_revision, int64_t renewal_revision) {
  Election election;
  election.won = Read(keys.leader).mod_revision == leader_revision &&
                 Read(keys.renewal).mod_revision == renewal_revision;
  if (election.won) {
    ++revision_;
    Store(keys.leader, name);
    Store(keys.renewal, renewal);
    Trace(name, " takes the leadership over, revision ", revision_);
  }
  election.stored = StoredIn(values_, keys);
  return election;
}

absl::StatusOr<membership::Etcd::Stored> SimEtcd::Renew(
    const Keys& keys, const std::string& renewal,
    const Leadership& leadership) {
  if (!IsLeader(keys, leadership)) {
    return absl::AbortedError("another manager leads");
  }
  ++revision_;
  Store(keys.renewal, renewal);
  return StoredIn(values_, keys);
}

absl::StatusOr<membership::Etcd::Value> SimEtcd::Replace(
    const Keys& keys, const std::string& value, int64_t expected_revision,
    const Leadership& leadership) {
  if (!IsLeader(keys, leadership)) {
    return absl::AbortedError("another manager leads");
  }
  if (Read(keys.view).mod_revision == expected_revision) {
    ++revision_;
    Store(keys.view, value);
    Trace("stores a view, revision ", revision_);
  }
  return Read(keys.view);
}

absl::Status SimEtcd::Compact(int64_t) { return absl::OkStatus(); }

}  // namespace kamino::simulation
