// The simplest model of a chain: a map, the latest outcome of each client, and
// the outcomes of each session's slots. Shares no code with the chain.
#ifndef KAMINO_TESTS_SIMULATION_MODEL_H_
#define KAMINO_TESTS_SIMULATION_MODEL_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kamino/v1/kamino.pb.h"
#include "replica/log/log_entry.h"

namespace kamino::simulation {

class Model {
 public:
  struct Object {
    std::string value;
    uint64_t version = 0;
    friend bool operator==(const Object& a, const Object& b) {
      return a.value == b.value && a.version == b.version;
    }
  };
  struct Client {
    uint64_t number = 0;
    uint64_t sequence = 0;
    std::string result;
    friend bool operator==(const Client& a, const Client& b) {
      return a.number == b.number && a.sequence == b.sequence &&
             a.result == b.result;
    }
  };
  struct Slot {
    uint64_t number = 0;  // 0: not used yet
    uint64_t sequence = 0;
    std::string result;
    bool voided = false;
    friend bool operator==(const Slot& a, const Slot& b) {
      return a.number == b.number && a.sequence == b.sequence &&
             a.result == b.result && a.voided == b.voided;
    }
  };
  struct Session {
    uint64_t epoch = 0;
    uint64_t opened = 0;  // number of that mutation
    std::vector<Slot> slots;
    friend bool operator==(const Session& a, const Session& b) {
      return a.epoch == b.epoch && a.opened == b.opened && a.slots == b.slots;
    }
  };
  struct Outcome {
    kamino::v1::Reason refused = kamino::v1::REASON_UNSPECIFIED;
    bool repeated = false;  // it has committed before
    std::string result;

    bool ok() const { return refused == kamino::v1::REASON_UNSPECIFIED; }
  };

  // Changes nothing when it is refused or repeated.
  Outcome Execute(const replica::MutationView& request, uint64_t sequence);
  // The outcome that Execute would return now.
  Outcome Try(const replica::MutationView& request) const;

  const std::map<std::string, Object>& objects() const { return objects_; }
  const std::map<uint64_t, Client>& clients() const { return clients_; }
  // The open sessions.
  const std::map<uint64_t, Session>& sessions() const { return sessions_; }
  // The recovery epoch of the last recovery by force, if any: a client that
  // does not know a session of an earlier epoch is right.
  void set_last_epoch(uint64_t epoch) { last_epoch_ = epoch; }
  bool MayHaveLost(uint64_t session) const {
    const auto found = sessions_.find(session);
    return found != sessions_.end() && found->second.epoch < last_epoch_;
  }
  // The highest number of a mutation whose outcome was dropped.
  uint64_t horizon() const { return horizon_; }

 private:
  Outcome CheckName(const replica::MutationView& request) const;
  Outcome CheckSlot(const replica::MutationView& request) const;
  Outcome Open(const std::string& arguments, uint64_t sequence);
  Outcome Close(const std::string& arguments);
  void Drop(const std::vector<uint64_t>& clients);  // their outcomes

  std::map<std::string, Object> objects_;
  uint64_t deleted_ = 0;  // the version of the newest delete
  std::map<uint64_t, Client> clients_;
  uint64_t horizon_ = 0;
  std::map<uint64_t, Session> sessions_;
  std::set<uint64_t> used_before_;  // sessions that were closed
  uint64_t epoch_ = 0;              // the highest one of any session
  uint64_t last_epoch_ = 0;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_MODEL_H_
