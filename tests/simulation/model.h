// What a chain is to do, as simply as it can be said: a map, and for each
// client its latest outcome. Shares nothing with what it is compared to.
#ifndef KAMINO_TESTS_SIMULATION_MODEL_H_
#define KAMINO_TESTS_SIMULATION_MODEL_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kamino/v1/kamino.pb.h"
#include "replica/log_entry.h"

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
  struct Outcome {
    kamino::v1::Reason refused = kamino::v1::REASON_UNSPECIFIED;
    bool repeated = false;  // it has committed before
    std::string result;

    bool ok() const { return refused == kamino::v1::REASON_UNSPECIFIED; }
  };

  // Changes nothing when it is refused or repeated.
  Outcome Execute(const replica::MutationView& request, uint64_t sequence);
  // What Execute would answer now.
  Outcome Try(const replica::MutationView& request) const;

  const std::map<std::string, Object>& objects() const { return objects_; }
  const std::map<uint64_t, Client>& clients() const { return clients_; }
  // The highest number of a mutation whose outcome was dropped.
  uint64_t horizon() const { return horizon_; }

 private:
  Outcome CheckName(const replica::MutationView& request) const;
  void Drop(const std::vector<uint64_t>& clients);  // their outcomes

  std::map<std::string, Object> objects_;
  uint64_t deleted_ = 0;  // the version of the newest delete
  std::map<uint64_t, Client> clients_;
  uint64_t horizon_ = 0;
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_MODEL_H_
