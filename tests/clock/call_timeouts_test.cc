// Calls whose method has a timeout, while the wall clock was set back by an
// hour: they reach the server.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "absl/time/time.h"
#include "glog/logging.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/server.h"
#include "tests/faults/fault.h"
#include "tests/faults/trial.h"
#include "tests/patience.h"

namespace kamino::rpc {
namespace {

void SetWallClock(absl::Duration by) {
  const int64_t nanos = absl::ToInt64Nanoseconds(by);
  // A process that has it mapped must not see it without its bytes.
  FILE* file = fopen(getenv("STEPPED_CLOCK"), "r+");
  PCHECK(file != nullptr && fwrite(&nanos, sizeof(nanos), 1, file) == 1 &&
         fclose(file) == 0);
}

// A server that has no such service says so.
grpc::StatusCode CallAfter(absl::Duration step) {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  auto server = Server::Start(options, {});
  EXPECT_TRUE(server.ok()) << server.status();
  auto stub = kamino::v1::KaminoService::NewStub(
      MakeChannel("127.0.0.1:" + std::to_string((*server)->port())));
  SetWallClock(step);
  grpc::ClientContext context;
  SetTimeout(Patience(absl::Seconds(20)), &context);
  context.set_wait_for_ready(true);
  kamino::v1::GetResponse response;
  const grpc::Status status = stub->Get(&context, {}, &response);
  SetWallClock(absl::ZeroDuration());
  return status.error_code();
}

// Runs in a process of its own, as gRPC keeps its reference time from its first
// use on; and before the others, which use it in this process.
TEST(CallTimeoutsFaultTest, UseOfTheWallClockIsDetected) {
  const faults::Verdict verdict = faults::RunTrial([]() -> faults::Verdict {
    faults::PlantFault("channel-reckons-timeouts-by-the-wall-clock");
    const grpc::StatusCode code = CallAfter(-absl::Hours(1));
    return {faults::PlantedFaultWasMet() &&
                code == grpc::StatusCode::DEADLINE_EXCEEDED,
            "code " + std::to_string(code)};
  });
  EXPECT_TRUE(verdict.caught) << verdict.how;
}

TEST(CallTimeoutsTest, DoNotUseTheWallClock) {
  for (int hours : {-1, 1}) {
    EXPECT_EQ(CallAfter(absl::Hours(hours)), grpc::StatusCode::UNIMPLEMENTED);
  }
}

}  // namespace
}  // namespace kamino::rpc

int main(int argc, char** argv) {
  if (getenv("STEPPED_CLOCK") == nullptr) {
    const std::string clock =
        ::testing::TempDir() + "clock." + std::to_string(getpid());
    setenv("STEPPED_CLOCK", clock.c_str(), 1);
    PCHECK(fclose(fopen(clock.c_str(), "w")) == 0);
    kamino::rpc::SetWallClock(absl::ZeroDuration());
    setenv("LD_PRELOAD", "tests/clock/libstepped_clock.so", 1);
    execv(argv[0], argv);
    PLOG(FATAL) << "execv";
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
