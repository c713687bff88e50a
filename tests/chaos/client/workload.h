// What the clients do, and how it is written down.
#ifndef KAMINO_TESTS_CHAOS_CLIENT_WORKLOAD_H_
#define KAMINO_TESTS_CHAOS_CLIENT_WORKLOAD_H_

#include <memory>
#include <string>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "client/client.h"
#include "tests/chaos/client/history_log.h"

namespace kamino::chaos {

// A partition of a history is checked by itself; the checker's work grows with
// its length and fast with what is concurrent, which an operation of unknown
// outcome is for ever. So a register, a bank or a list is given up for a new
// one after a while, and read once more at the end.
struct PartitionLimits {
  int operations = 400;
  int unknown = 2;
};

// Thread-safe; each logical process is of one thread.
class Workload {
 public:
  virtual ~Workload() = default;

  // One operation of a logical process, from call to end.
  virtual void Step(Process* process, absl::BitGen& random) = 0;
  // Reads all that was ever written, when the faults are over: an acknowledged
  // write that was lost shows.
  virtual absl::Status ReadAll(Process* process) = 0;
};

std::unique_ptr<Workload> MakeRegisters(client::Client* client,
                                        HistoryLog* log);
std::unique_ptr<Workload> MakeBank(client::Client* client, HistoryLog* log);
std::unique_ptr<Workload> MakeLists(client::Client* client, HistoryLog* log);

}  // namespace kamino::chaos

#endif  // KAMINO_TESTS_CHAOS_CLIENT_WORKLOAD_H_
