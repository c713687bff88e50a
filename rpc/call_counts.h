// How many calls of each method this process has made and served, by how they
// ended, and how long they took; a node's status has its own.
//
// Calls made are counted by an interceptor, on every channel that does not do
// without (rpc/channel.h). Calls served are counted where they are answered, by
// CountServed: an interceptor takes a twelfth of what a call costs a server. A
// call that is served takes from when its request is there until its answer is
// given to gRPC; a stream, until its end is.
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
    std::string name;  // as gRPC's: "/kamino.v1.KaminoService/Get"
    std::array<uint64_t, kStatusCodes> ended = {};  // by code
  };
  // Methods called so far, by name.
  std::vector<Method> Read() const;
  // The same for one; zeros when it was never called.
  Method Read(absl::string_view name) const;

  // The counter of one method, for as long as these counts.
  class Counter {
   public:
    void Add(int code, absl::Duration took);

   private:
    friend class CallCounts;
    // Null: none has ended so. They count for good.
    std::array<std::atomic<metrics::Latencies*>, kStatusCodes> ended_{};
  };
  // `method` must not be what a stranger made up: each takes room for good.
  Counter* Of(absl::string_view method);

  // How long they took, of each method and code that there were.
  void Visit(absl::FunctionRef<void(absl::string_view method, int code,
                                    const metrics::LatencySnapshot& took)>
                 visit) const;

 private:
  static Method ToMethod(absl::string_view name, const Counter& counter);

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::unique_ptr<Counter>> counters_
      ABSL_GUARDED_BY(mutex_);
};

// The process's. They are never destroyed.
CallCounts& CallsMade();
CallCounts& CallsServed();

// Counts in CallsMade.
std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>
CountCallsMade();

// The method that takes `message`, or that answers with it and no other does;
// of a service of the same file.
std::string MethodOf(const google::protobuf::Descriptor& message);

// `Message`: by which MethodOf knows the method.
template <typename Message>
void CountServed(int code, absl::Duration took) {
  static CallCounts::Counter* const counter =
      CallsServed().Of(MethodOf(*Message::descriptor()));
  counter->Add(code, took);
}

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CALL_COUNTS_H_
