// Ends connections through which a peer makes the process's memory grow: the
// resource quotas of gRPC (1.51) do not cover reset calls, endless headers and
// handshakes. Also returns freed memory to the kernel, which the allocator
// would keep.
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

// One per process, with its own thread, which checks the memory at least ten
// times a second, and the calls, which takes longer, at least once a second.
// Thread-safe.
class FloodGuard {
 public:
  // Exists as long as one of its servers does.
  static std::shared_ptr<FloodGuard> OfProcess();
  ~FloodGuard();
  FloodGuard(const FloodGuard&) = delete;
  FloodGuard& operator=(const FloodGuard&) = delete;

  // Adds a server at `port`. While the process's private memory, without mapped
  // files, exceeds `max_memory`, the connections that sent the most in the last
  // tenth of a second end. The largest limit of all servers applies.
  void AddServer(int port, size_t max_memory);
  void RemoveServer(int port);

 private:
  // By port and peer.
  using Bytes = std::map<std::pair<int, std::string>, uint64_t>;

  FloodGuard();
  void Run();
  // True: so many calls began without an answer that the next check comes soon.
  bool LookAtCalls();
  // The same for the memory.
  bool LookAtMemory(absl::Time now);
  Bytes Received();
  void EndWhoSendsMost(size_t memory);
  void EndOne(int port, const std::string& address, absl::string_view reason,
              const std::string& why);
  size_t Trim(absl::Time now);

  // Used by the thread only.
  StreamResets resets_{StreamResets::Limits()};
  int64_t unanswered_ = 0;                      // calls, at the last check
  absl::Time calls_at_ = absl::InfinitePast();  // of the next check of calls
  bool looks_soon_ = false;
  ConnectionEnds ends_;
  LogLimit told_;
  absl::Time trimmed_at_ = absl::InfinitePast();
  size_t trimmed_to_ = 0;
  int trims_left_ = 0;  // after an end: its calls are freed some seconds later
  size_t memory_ = 0;   // at the last check
  Bytes received_;      // while memory is above the limit, or close to it

  absl::Mutex mutex_;
  bool stops_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<int, size_t> servers_ ABSL_GUARDED_BY(mutex_);  // max_memory by port
  std::thread thread_;
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_FLOOD_GUARD_H_
