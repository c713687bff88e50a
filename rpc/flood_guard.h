// Ends connections of gRPC's servers by which a peer makes the process grow: a
// resource quota does not bound what gRPC (1.51) has of calls that were reset,
// of headers that do not end, and of handshakes. Gives the memory back, which
// the allocator else keeps.
#ifndef KAMINO_RPC_FLOOD_GUARD_H_
#define KAMINO_RPC_FLOOD_GUARD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/log_limit.h"
#include "rpc/connection_ends.h"
#include "rpc/stream_resets.h"

namespace kamino::rpc {

// The process's, with a thread of its own, which looks at the memory ten times
// a second or more, and at calls once a second or more: that takes longer.
// Thread-safe.
class FloodGuard {
 public:
  // There as long as one of its servers is.
  static std::shared_ptr<FloodGuard> OfProcess();
  ~FloodGuard();
  FloodGuard(const FloodGuard&) = delete;
  FloodGuard& operator=(const FloodGuard&) = delete;

  // A server has this port. Beyond so many bytes of the process's own memory,
  // mapped files left out, connections to its servers end: those that have sent
  // most within a tenth of a second. The most of all servers counts.
  void AddServer(int port, size_t max_memory);
  void RemoveServer(int port);

 private:
  // By port and peer.
  using Bytes = std::map<std::pair<int, std::string>, uint64_t>;

  FloodGuard();
  void Run();
  // Whether so many were begun without an answer that it looks again soon.
  bool LookAtCalls();
  // The same, for that too much is taken.
  bool LookAtMemory(absl::Time now);
  Bytes Received();
  void EndWhoSendsMost(size_t memory);
  void EndOne(int port, const std::string& address, absl::string_view reason,
              const std::string& why);
  size_t Trim(absl::Time now);

  // The thread's.
  StreamResets resets_{StreamResets::Limits()};
  int64_t unanswered_ = 0;                      // calls, at the last look
  absl::Time calls_at_ = absl::InfinitePast();  // of the next look at calls
  bool looks_soon_ = false;
  ConnectionEnds ends_;
  LogLimit told_;
  absl::Time trimmed_at_ = absl::InfinitePast();
  size_t trimmed_to_ = 0;
  int trims_left_ = 0;  // after an end: its calls are gone some seconds later
  size_t memory_ = 0;   // at the last look
  Bytes received_;      // while there is too much, or soon will be

  absl::Mutex mutex_;
  bool stops_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<int, size_t> servers_ ABSL_GUARDED_BY(mutex_);  // max_memory by port
  std::thread thread_;
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_FLOOD_GUARD_H_
