// The shared context of one transport's links without rings, while it ends.
#include "transport/verbs/send_context.h"

#include <memory>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/transport/fake_verbs.h"
#include "transport/verbs/local_rendezvous.h"

namespace kamino::transport {
namespace {

// A link has begun to be set up, on the loop's thread, when another thread
// begins to destroy the transport: whether it still gets its wire.
absl::Status MakeAWireWhileStopping() {
  VerbsSetup setup;
  setup.rendezvous = std::make_shared<LocalRendezvous>();
  setup.api = std::make_shared<FakeFabric>();
  const TransportOptions options;
  auto loop = LinkContext::LoopFor(options, options.spin);
  if (!loop.ok()) return loop.status();
  const auto context = std::make_shared<SendContext>(options, *loop, setup);
  absl::Status made;
  (*loop)->RunSync([&] {
    context->stopping = true;
    const auto hub = context->Hub();
    made = hub.status();
    if (!made.ok()) return;
    auto wire = (*hub)->MakeWire();
    made = wire.status();
    if (made.ok()) {
      context->RetireWire(*hub, *std::move(wire), /*at_once=*/true);
    }
  });
  LinkContext::CloseAll(context);
  context->AwaitWires();
  context->RetireAll();
  context->EndLoop();
  return made;
}

TEST(SendContextTest, AWireCreatedDuringStopHasAHub) {
  EXPECT_EQ(MakeAWireWhileStopping(), absl::OkStatus());
}

TEST(SendContextTest, ADroppedNewHubIsDetected) {
  const faults::Planted fault("new-hub-dropped-while-stopping");
  EXPECT_FALSE(MakeAWireWhileStopping().ok());
}

}  // namespace
}  // namespace kamino::transport
