// Counts the calls that this process makes and serves, by method and status,
// and their durations. A node's status reports its own.
//
// An interceptor counts the calls made, on every channel that does not opt out
// (rpc/channel.h). Served calls are counted where they are answered, by
// CountServed, because an interceptor takes a twelfth of a server's cost per
// call. A served call lasts from the arrival of its request until its answer,
// or the end of a stream, is passed to gRPC.
#ifndef KAMINO_RPC_CALL_COUNTS_H_
#define KAMINO_RPC_CALL_COUNTS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "google/protobuf/descriptor.h"
#include "grpcpp/support/client_interceptor.h"
#include "metrics/latencies.h"

namespace kamino::rpc {

inline constexpr int kStatusCodes = 17;  // of gRPC's, 0 is OK

// Thread-safe. Counts only grow.
class CallCounts {
 public:
  struct Method {
    std::string name;  // gRPC's name: "/kamino.v1.KaminoService/Get"
    std::array<uint64_t, kStatusCodes> ended = {};  // by code
  };
  // All methods called so far, by name.
  std::vector<Method> Read() const;
  // One method; zeros if it was never called.
  Method Read(absl::string_view name) const;

  // The counter of one method, valid as long as the CallCounts.
  class Counter {
   public:
    void Add(int code, absl::Duration took);

   private:
    friend class CallCounts;
    // Null: no call has ended with that code. Never freed.
    std::array<std::atomic<metrics::Latencies*>, kStatusCodes> ended_{};
  };
  // `method` must not come from an unchecked request: each one takes memory
  // permanently.
  Counter* Of(absl::string_view method);

  // Visits the durations of each method and code.
  void Visit(absl::FunctionRef<void(absl::string_view method, int code,
                                    const metrics::LatencySnapshot& took)>
                 visit) const;

 private:
  static Method ToMethod(absl::string_view name, const Counter& counter);

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::unique_ptr<Counter>> counters_
      ABSL_GUARDED_BY(mutex_);
};

// The process's counts; never destroyed.
CallCounts& CallsMade();
CallCounts& CallsServed();

// Counts in CallsMade.
std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>
CountCallsMade();

// The name of the method whose request, or unique response, is `message`; its
// service must be in the same file.
std::string MethodOf(const google::protobuf::Descriptor& message);

// `Message`: identifies the method for MethodOf.
template <typename Message>
void CountServed(int code, absl::Duration took) {
  static CallCounts::Counter* const counter =
      CallsServed().Of(MethodOf(*Message::descriptor()));
  counter->Add(code, took);
}

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CALL_COUNTS_H_
