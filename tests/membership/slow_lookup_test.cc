// Names of managers whose lookup takes longer than a call waits.
//
// gRPC looks names up by getaddrinfo here, and the one in this file replaces
// the C library's.
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/chain_id.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "kamino/internal/v1/membership.grpc.pb.h"
#include "membership/agent/membership_agent.h"
#include "membership/view.h"
#include "rpc/credentials.h"
#include "rpc/redirect.h"
#include "rpc/status.h"
#include "tests/faults/fault.h"
#include "tests/faults/trial.h"
#include "tests/patience.h"

namespace kamino::membership {
namespace {

using kamino::internal::v1::HeartbeatRequest;
using kamino::internal::v1::HeartbeatResponse;
using kamino::internal::v1::MembershipService;
using kamino::internal::v1::RegisterRequest;
using kamino::internal::v1::RegisterResponse;

constexpr char kSlow[] = ".slow.kamino.test";
const absl::Duration kDeadline = Patience(absl::Milliseconds(50));
// How many calls another manager gets during a lookup: the agent gives up its
// call that often.
constexpr int kCallsMeanwhile = 5;
// If a thread of gRPC's default executor asks for a lookup, the lookup runs on
// that thread, and calls may wait for the thread: then no call ends meanwhile.
const absl::Duration kLongestLookup = Patience(absl::Seconds(2));

// Before gRPC reads it.
[[maybe_unused]] const int by_getaddrinfo =
    setenv("GRPC_DNS_RESOLVER", "native", 1);

// The calls that managers got, and the event that lookups wait for.
class Events {
 public:
  static Events& Get() {
    static Events& events = *new Events;
    return events;
  }

  void AddCall() {
    absl::MutexLock lock(&mutex_);
    ++calls_;
  }
  void TakenIn(const std::string& manager) {
    absl::MutexLock lock(&mutex_);
    taken_in_by_ = manager;
  }

  void AwaitCallsMeanwhile() {
    absl::MutexLock lock(&mutex_);
    const int enough = calls_ + kCallsMeanwhile;
    const auto over = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return calls_ >= enough || lets_go_;
    };
    mutex_.AwaitWithTimeout(absl::Condition(&over), kLongestLookup);
  }
  // Ends the waits of all lookups.
  void LetGo() {
    absl::MutexLock lock(&mutex_);
    lets_go_ = true;
  }

  // "": none, after that many more calls to the manager that does not lead.
  std::string AwaitTakenIn(int calls) {
    absl::MutexLock lock(&mutex_);
    const int last = calls_ + calls;
    const auto over = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !taken_in_by_.empty() || calls_ >= last;
    };
    mutex_.AwaitWithTimeout(absl::Condition(&over),
                            Patience(absl::Seconds(60)));
    return taken_in_by_;
  }

 private:
  absl::Mutex mutex_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  bool lets_go_ ABSL_GUARDED_BY(mutex_) = false;
  std::string taken_in_by_ ABSL_GUARDED_BY(mutex_);
};

class Manager final : public MembershipService::Service {
 public:
  explicit Manager(bool leads) : leads_(leads) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", rpc::ServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  int port() const { return port_; }

 private:
  grpc::Status Register(grpc::ServerContext*, const RegisterRequest*,
                        RegisterResponse* response) override {
    if (!leads_) {
      Events::Get().AddCall();
      return rpc::ToGrpc(rpc::NotLeader(""));
    }
    response->set_chain_id(kOnlyChain);
    response->set_lease_ms(700);
    response->set_heartbeat_interval_ms(1);
    return grpc::Status::OK;
  }
  grpc::Status Heartbeat(grpc::ServerContext*, const HeartbeatRequest*,
                         HeartbeatResponse* response) override {
    response->set_chain_id(kOnlyChain);
    response->set_lease_ms(700);
    return grpc::Status::OK;
  }

  const bool leads_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// The manager that takes in a node. The node's managers are `others` by name,
// none of which is there, one that does not lead, and one by name that does.
// Gives up after `calls` calls to the one that does not lead.
std::string TakesIn(int others, int calls) {
  Manager leader(/*leads=*/true);
  Manager follower(/*leads=*/false);
  AgentOptions options;
  options.cluster_id = "c";
  options.managers = {absl::StrCat("127.0.0.1:", follower.port()),
                      absl::StrCat("leader", kSlow, ":", leader.port())};
  for (int i = 0; i < others; ++i) {
    options.managers.push_back(absl::StrCat("m", i, kSlow, ":1"));
  }
  options.deadline = kDeadline;
  options.retry = absl::Milliseconds(1);
  options.on_registered = [](const std::string& manager) {
    Events::Get().TakenIn(manager);
  };
  MembershipAgent agent(options);
  ViewSourceCallbacks callbacks;
  callbacks.on_view = [](const View&) {};
  callbacks.on_refused = [](const absl::Status&) {};
  const Member self{"n1", 7, "n1:1", {{"tcp", "n1:2"}}, 64, "h"};
  EXPECT_EQ(agent.Start(self, std::move(callbacks)), absl::OkStatus());
  const std::string by = Events::Get().AwaitTakenIn(calls);
  Events::Get().LetGo();
  agent.Stop();
  return by;
}

// Each trial in a process of its own, as gRPC's threads wait there.
faults::Verdict Trial(int others, const char* fault) {
  return faults::RunTrial([=]() -> faults::Verdict {
    faults::PlantFault(fault);
    const bool sound = *fault == '\0';
    const std::string by = TakesIn(others, (sound ? 200 : 8) * kCallsMeanwhile);
    const bool met = sound || faults::PlantedFaultWasMet();
    return {met && by.empty(), absl::StrCat("taken in by \"", by, "\"")};
  });
}

TEST(SlowLookupTest, AManagerIsFoundOnceItsNameIsResolved) {
  for (int others : {0, 2}) {
    const faults::Verdict verdict = Trial(others, "");
    EXPECT_FALSE(verdict.caught) << verdict.how;
    EXPECT_TRUE(absl::StrContains(verdict.how, "leader")) << verdict.how;
  }
}

TEST(SlowLookupTest, RestartedLookupsAreDetected) {
  const faults::Verdict verdict =
      Trial(/*others=*/0, "membership-looks-managers-up-anew");
  EXPECT_TRUE(verdict.caught) << verdict.how;
}

}  // namespace
}  // namespace kamino::membership

extern "C" int getaddrinfo(const char* host, const char* service,
                           const addrinfo* hints, addrinfo** found) {
  using Call = int(const char*, const char*, const addrinfo*, addrinfo**);
  static auto* const real =
      reinterpret_cast<Call*>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (host != nullptr && absl::EndsWith(host, kamino::membership::kSlow)) {
    kamino::membership::Events::Get().AwaitCallsMeanwhile();
    host = "127.0.0.1";
  }
  return real(host, service, hints, found);
}
