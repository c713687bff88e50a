// A session over a gRPC stream, by a client that sends without waiting.
#include <string>
#include <thread>

#include "kamino/v1/session.grpc.pb.h"
#include "proto/session_frame.h"
#include "tests/node/rpc/node_server_fixture.h"

namespace kamino::node {
namespace {

using kamino::v1::SessionFrame;
using session::FrameKind;

// Several frames are read ahead of those that the node looks at, by whatever
// thread is free.
TEST_F(NodeServerTest, FramesOfAStreamReachTheNodeInTheirOrder) {
  constexpr uint32_t kFrames = 20000;
  views_.Install(1);
  ASSERT_TRUE(Put("a", "1", 1).ok());
  const auto sessions = kamino::v1::SessionService::NewStub(channel_);
  grpc::ClientContext context;
  const auto stream = sessions->Connect(&context);
  kamino::v1::SessionHello hello;
  hello.set_min_version(1);
  hello.set_max_version(1);
  SessionFrame frame;
  frame.set_frame(
      session::MakeFrame(FrameKind::kHello, hello.SerializeAsString()));
  ASSERT_TRUE(stream->Write(frame));
  ASSERT_TRUE(stream->Read(&frame));
  ASSERT_EQ(session::ParseFrame(frame.frame())->kind, FrameKind::kWelcome);

  std::thread sender([&stream] {
    pthread_setname_np(pthread_self(), "sender");
    kamino::v1::GetRequest get;
    get.set_key("a");
    const std::string body = get.SerializeAsString();
    SessionFrame requests;
    for (uint32_t tag = 1; tag <= kFrames; ++tag) {
      session::FrameWriter writer(FrameKind::kRequests);
      writer.Add(session::Request{tag, session::Method::kGet, 20000, 0, body});
      requests.set_frame(writer.Take());
      if (!stream->Write(requests)) return;
    }
  });
  uint32_t answered = 0;
  while (answered < kFrames && stream->Read(&frame)) {
    const auto responses = session::ParseFrame(frame.frame());
    ASSERT_TRUE(responses.ok()) << responses.status();
    ASSERT_EQ(responses->kind, FrameKind::kResponses) << responses->parts;
    ASSERT_TRUE(
        session::VisitResponses(*responses,
                                [&answered](const session::Response& response) {
                                  EXPECT_EQ(response.code, 0);
                                  EXPECT_EQ(response.tag, ++answered);
                                  return !HasFailure();
                                })
            .ok());
    if (HasFailure()) break;
  }
  context.TryCancel();
  sender.join();
  EXPECT_EQ(answered, kFrames);
}

}  // namespace
}  // namespace kamino::node
