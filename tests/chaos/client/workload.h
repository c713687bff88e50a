// The clients' operations, and how they are recorded.
#ifndef KAMINO_TESTS_CHAOS_CLIENT_WORKLOAD_H_
#define KAMINO_TESTS_CHAOS_CLIENT_WORKLOAD_H_

#include <memory>
#include <string>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "client/client.h"
#include "tests/chaos/client/history_log.h"

namespace kamino::chaos {

// Several clients do the same to the same objects.
struct Place {
  int client = 0;  // which of them this is, from 0
  int clients = 1;
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

using MakeWorkload = std::unique_ptr<Workload>(client::Client* client,
                                               HistoryLog* log, Place place);
MakeWorkload MakeRegisters;
MakeWorkload MakeBank;
MakeWorkload MakeLists;

}  // namespace kamino::chaos

#endif  // KAMINO_TESTS_CHAOS_CLIENT_WORKLOAD_H_
