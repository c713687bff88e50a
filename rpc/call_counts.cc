#include "rpc/call_counts.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "glog/logging.h"

namespace kamino::rpc {
namespace {

using google::protobuf::MethodDescriptor;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;

// One call.
class Counted final : public Interceptor {
 public:
  explicit Counted(CallCounts::Counter* counter) : counter_(counter) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            InterceptionHookPoints::POST_RECV_STATUS)) {
      counter_->Add(methods->GetRecvStatus()->error_code(),
                    MonotonicNow() - began_);
    }
    methods->Proceed();
  }

 private:
  CallCounts::Counter* const counter_;
  const absl::Time began_ = MonotonicNow();
};

class Factory final
    : public grpc::experimental::ClientInterceptorFactoryInterface {
  Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* call) override {
    return new Counted(CallsMade().Of(call->method()));
  }
};

std::vector<const MethodDescriptor*> MethodsBeside(
    const google::protobuf::Descriptor& message) {
  std::vector<const MethodDescriptor*> methods;
  const auto* file = message.file();
  for (int i = 0; i < file->service_count(); ++i) {
    for (int j = 0; j < file->service(i)->method_count(); ++j) {
      methods.push_back(file->service(i)->method(j));
    }
  }
  return methods;
}

}  // namespace

void CallCounts::Counter::Add(int code, absl::Duration took) {
  // A peer may send any number.
  const bool known = code >= 0 && code < kStatusCodes;
  auto& place = ended_[known ? code : grpc::StatusCode::UNKNOWN];
  metrics::Latencies* latencies = place.load(std::memory_order_acquire);
  if (latencies == nullptr) {
    static absl::Mutex* const mutex = new absl::Mutex;
    absl::MutexLock lock(mutex);
    latencies = place.load(std::memory_order_relaxed);
    if (latencies == nullptr) latencies = new metrics::Latencies;
    place.store(latencies, std::memory_order_release);
  }
  latencies->Add(took);
}

CallCounts::Counter* CallCounts::Of(absl::string_view method) {
  absl::MutexLock lock(&mutex_);
  auto& counter = counters_[method];
  if (counter == nullptr) counter = std::make_unique<Counter>();
  return counter.get();
}

CallCounts::Method CallCounts::ToMethod(absl::string_view name,
                                        const Counter& counter) {
  Method method{std::string(name)};
  for (int code = 0; code < kStatusCodes; ++code) {
    const auto* latencies =
        counter.ended_[code].load(std::memory_order_acquire);
    if (latencies != nullptr) method.ended[code] = latencies->Read().count();
  }
  return method;
}

std::vector<CallCounts::Method> CallCounts::Read() const {
  std::vector<Method> methods;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [name, counter] : counters_) {
      methods.push_back(ToMethod(name, *counter));
    }
  }
  std::sort(methods.begin(), methods.end(),
            [](const Method& a, const Method& b) { return a.name < b.name; });
  return methods;
}

void CallCounts::Visit(absl::FunctionRef<void(absl::string_view, int,
                                              const metrics::LatencySnapshot&)>
                           visit) const {
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, counter] : counters_) {
    for (int code = 0; code < kStatusCodes; ++code) {
      const auto* latencies =
          counter->ended_[code].load(std::memory_order_acquire);
      if (latencies != nullptr) visit(name, code, latencies->Read());
    }
  }
}

CallCounts::Method CallCounts::Read(absl::string_view name) const {
  absl::MutexLock lock(&mutex_);
  const auto found = counters_.find(name);
  return found == counters_.end() ? Method{std::string(name)}
                                  : ToMethod(name, *found->second);
}

CallCounts& CallsMade() {
  static auto* const counts = new CallCounts;
  return *counts;
}

CallCounts& CallsServed() {
  static auto* const counts = new CallCounts;
  return *counts;
}

std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>
CountCallsMade() {
  return std::make_unique<Factory>();
}

std::string MethodOf(const google::protobuf::Descriptor& message) {
  const MethodDescriptor* found = nullptr;
  for (const MethodDescriptor* method : MethodsBeside(message)) {
    if (method->input_type() != &message && method->output_type() != &message) {
      continue;
    }
    CHECK(found == nullptr) << message.full_name() << " is of two methods";
    found = method;
  }
  CHECK(found != nullptr) << message.full_name() << " is of no method";
  return absl::StrCat("/", found->service()->full_name(), "/", found->name());
}

}  // namespace kamino::rpc
