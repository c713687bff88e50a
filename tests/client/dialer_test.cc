// Attempts to connect to a node: what an attempt does after its outcome.
#include "client/session/dialer.h"

#include <sys/mman.h>

#include <memory>
#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "client/lane_pool.h"
#include "client/session/session.h"
#include "client/timer.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "kamino/v1/session.grpc.pb.h"
#include "rpc/credentials.h"

namespace kamino::client {
namespace {

// A node that offers TCP at one address.
class Node final : public kamino::v1::SessionService::Service {
 public:
  explicit Node(std::string tcp_address)
      : tcp_address_(std::move(tcp_address)) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", rpc::ServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }

  const std::string& address() const { return address_; }

  grpc::Status GetCarriers(grpc::ServerContext*,
                           const kamino::v1::GetCarriersRequest*,
                           kamino::v1::GetCarriersResponse* response) override {
    auto* const carrier = response->add_carriers();
    carrier->set_transport("tcp");
    carrier->set_address(tcp_address_);
    return grpc::Status::OK;
  }

 private:
  const std::string tcp_address_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

// A timer in memory that cannot be accessed after Destroy: a later use ends the
// process.
class GuardedTimer {
 public:
  GuardedTimer()
      : memory_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        timer_(new (memory_) Timer) {}
  ~GuardedTimer() { munmap(memory_, kBytes); }

  Timer* get() { return timer_; }
  void Destroy() {
    timer_->~Timer();
    EXPECT_EQ(mprotect(memory_, kBytes, PROT_NONE), 0);
  }

 private:
  static constexpr size_t kBytes = 4096;
  static_assert(sizeof(Timer) <= kBytes);
  void* const memory_;
  Timer* const timer_;
};

// The transport refuses the address inside Connection::Open, so the attempt
// ends while the call that began it still runs.
TEST(DialerTest, ReportingTheOutcomeIsTheLastStepOfAnAttempt) {
  Node node(/*tcp_address=*/"no address");
  LanePool lanes;
  Session session({}, &lanes);
  GuardedTimer timer;
  DialerOptions options;
  options.carrier = "tcp";
  Dialer dialer(options, &session, timer.get(), [] { return std::string(); });
  absl::Notification ended;
  dialer.Dial(node.address(), session.BeginAttempt(), /*chain_id=*/1,
              [&](const Dialer::Outcome& outcome) {
                EXPECT_FALSE(outcome.status.ok());
                EXPECT_NE(outcome.session_id, 0u);
                EXPECT_EQ(outcome.connection, nullptr);
                timer.Destroy();
                ended.Notify();
              });
  ended.WaitForNotification();
}

}  // namespace
}  // namespace kamino::client
