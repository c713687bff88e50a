// Clients' requests: registers, commits with preconditions, transfers, lists.
#ifndef KAMINO_TESTS_SIMULATION_WORKLOAD_H_
#define KAMINO_TESTS_SIMULATION_WORKLOAD_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "replica/procedure.h"
#include "tests/simulation/history.h"
#include "tests/simulation/random.h"

namespace kamino::simulation {

// The wrong result of a node's operation.
enum class Slip {
  kNone,
  kAny,    // a wrong result
  kBytes,  // the same objects, of the same sizes, with other bytes
  kStops,  // a replica finds that its calls are not the head's
};

// The procedures of the simulation's nodes. `errs`: called at each transfer;
// how this node computes it. `dies`: called at each crashing request with the
// role it is to end, kHead or kReplica; whether that ends this node's process
// now. `newer`: a release with one more procedure.
replica::ProcedureRegistry WorkloadProcedures(
    std::function<Slip()> errs = nullptr,
    std::function<bool(absl::string_view victim)> dies = nullptr,
    bool newer = false);

inline constexpr char kNewer[] = "test.newer";

inline constexpr char kHead[] = "head";        // that executes it for a client
inline constexpr char kReplica[] = "replica";  // that executes its log entry

class Workload {
 public:
  struct Options {
    int registers = 6;
    int lists = 5;
    int accounts = 5;
    // Values that fill the heap; 0: none.
    uint32_t ballast_bytes = 0;
    // Percent of all requests that put objects which fill the heap to its last
    // byte, or delete them.
    uint64_t hoard_percent = 0;
    // Objects that clients write once and never read.
    int cold = 3;
    // Percent of the mutations with a condition that fails as often as not,
    // which a head answers by itself, or that change whether such conditions
    // hold.
    uint64_t conditional_percent = 0;
    // Percent of all requests that call a procedure some nodes lack.
    uint64_t newer_percent = 0;
  };
  static constexpr int64_t kBalance = 100;  // of each account, at first

  Workload(const Options& options, Random random)
      : options_(options), random_(random) {}

  // The first mutation, before any other: makes the accounts, and the objects
  // that no client reads.
  Record Setup() const;
  // The version that a client knows of an object, by key, as some answer told.
  using Versions = std::map<std::string, uint64_t>;

  // A read or a mutation of a client that knows `versions`; client id and
  // number are not filled in.
  Record Next(const Versions& versions);

  // The next request is crashing: it ends the processes that execute it.
  void AddCrashing(absl::string_view victim);

  // The values of those objects: no other bytes are like these.
  std::vector<std::string> ColdValues() const;
  // Their keys.
  std::vector<std::string> ColdKeys() const;
  std::vector<std::string> AccountKeys() const;
  std::vector<std::string> ListKeys() const;
  // Whether it deletes an object that is large enough to free more room than
  // its outcome takes.
  static bool FreesRoom(const replica::Mutation& request);

 private:
  std::string Register() { return Name("r", options_.registers); }
  std::string Name(const char* prefix, int count);
  std::string Value();

  Record Read();
  Record Put();
  Record Patch();
  Record Delete();
  Record Commit();
  Record CompareVersion(const Versions& versions);
  Record CompareRange(const std::string& key, const Versions& versions);
  Record Transfer();
  Record Lists();
  // Puts `least` to `least` + `span` - 1 bytes, or deletes.
  Record PutOrDelete(const std::string& key, size_t least, size_t span,
                     char byte);
  Record Ballast();
  Record Hoard();
  Record Conditional();
  Record Newer();

  const Options options_;
  Random random_;
  uint64_t next_value_ = 1;
  std::deque<Record> added_;  // before those that are drawn
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_WORKLOAD_H_
