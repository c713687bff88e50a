// A session over a gRPC stream, by a client that sends without waiting.
#include <string>
#include <thread>

#include "kamino/v1/session.grpc.pb.h"
#include "proto/session_frame.h"
#include "tests/faults/planted.h"
#include "tests/node/rpc/node_server_fixture.h"

namespace kamino::node {
namespace {

using kamino::v1::SessionFrame;
using session::FrameKind;

class SessionStreamTest : public NodeServerTest {
 protected:
  using Stream = grpc::ClientReaderWriter<SessionFrame, SessionFrame>;

  static void SendHello(Stream* stream) {
    kamino::v1::SessionHello hello;
    hello.set_min_version(1);
    hello.set_max_version(1);
    SessionFrame frame;
    frame.set_frame(
        session::MakeFrame(FrameKind::kHello, hello.SerializeAsString()));
    ASSERT_TRUE(stream->Write(frame));
    ASSERT_TRUE(stream->Read(&frame));
    ASSERT_EQ(session::ParseFrame(frame.frame())->kind, FrameKind::kWelcome);
  }

  // In frames of one each, tagged from 1, until the stream ends.
  static void SendGets(Stream* stream, uint32_t count) {
    kamino::v1::GetRequest get;
    get.set_key("a");
    const std::string body = get.SerializeAsString();
    SessionFrame frame;
    for (uint32_t tag = 1; tag <= count; ++tag) {
      session::FrameWriter writer(FrameKind::kRequests);
      writer.Add(session::Request{tag, session::Method::kGet, 20000, 0, body});
      frame.set_frame(writer.Take());
      if (!stream->Write(frame)) return;
    }
  }

  // How many of so many gets were answered, up to the first answer that is not
  // the next one's.
  uint32_t AnsweredInOrder(uint32_t count) {
    const auto sessions = kamino::v1::SessionService::NewStub(channel_);
    grpc::ClientContext context;
    const auto stream = sessions->Connect(&context);
    SendHello(stream.get());
    std::thread sender([&stream, count] {
      pthread_setname_np(pthread_self(), "sender");
      SendGets(stream.get(), count);
    });
    SessionFrame frame;
    uint32_t answered = 0;
    bool in_order = true;
    while (in_order && answered < count && stream->Read(&frame)) {
      const auto responses = session::ParseFrame(frame.frame());
      in_order =
          responses.ok() && responses->kind == FrameKind::kResponses &&
          session::VisitResponses(*responses,
                                  [&](const session::Response& response) {
                                    in_order = response.code == 0 &&
                                               response.tag == answered + 1;
                                    answered += in_order;
                                    return in_order;
                                  })
              .ok() &&
          in_order;
    }
    context.TryCancel();
    sender.join();
    return answered;
  }
};

// Frames are read ahead of those that the node looks at, by whatever thread is
// free.
TEST_F(SessionStreamTest, FramesReachTheNodeInTheirOrder) {
  constexpr uint32_t kFrames = 20000;
  views_.Install(1);
  ASSERT_TRUE(Put("a", "1", 1).ok());
  EXPECT_EQ(AnsweredInOrder(kFrames), kFrames);
  const faults::Planted planted("stream-reads-on-before-it-passes-on");
  bool caught = false;
  for (int i = 0; i < 400 && !caught; ++i) {
    caught = AnsweredInOrder(kFrames) < kFrames;
  }
  EXPECT_TRUE(caught);
}

}  // namespace
}  // namespace kamino::node
