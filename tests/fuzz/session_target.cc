// Bytes from the other end of a session connection: of clients to a node that
// is a whole chain, of a node to a client, and frames as they are read.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/session/connection.h"
#include "glog/logging.h"
#include "kamino/v1/kamino.pb.h"
#include "kamino/v1/session.pb.h"
#include "node/driver/node.h"
#include "node/session/session_server.h"
#include "node/storage/storage.h"
#include "proto/session_frame.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/scripted_links.h"
#include "tests/fuzz/situations.h"
#include "tests/fuzz/targets.h"
#include "tests/node/driver/fixed_views.h"
#include "tests/node/driver/manual_executor.h"

namespace kamino::fuzz {
namespace {

using node::ManualExecutor;
using node::Node;
using node::SessionServer;
using node::SimDisk;
using node::SimMedia;
using node::Storage;
using session::FrameKind;
using session::Method;

// Kinds of steps, in the first byte.
enum : uint8_t {
  kConnect,
  kRaw,     // a frame as it is
  kForged,  // one whose head is put right
  kHello,   // or a request of a client
  kTime,
  kTakes,  // or takes nothing of what is sent
  kGone,
  kSteps,
};
enum : uint8_t { kOfReader, kOfClient, kOfNode, kParties };

constexpr size_t kConnections = 3;
constexpr size_t kMaxUnsent = 4096;
// Allowance beyond that: a frame of answers, each of half a heap at the most.
constexpr size_t kMaxAnswers = size_t{8} << 20;

std::string FrameOf(Input* input, bool forged) {
  std::string bytes(input->Bytes(input->Number(2)));
  if (!forged || bytes.size() < session::kHeaderBytes) return bytes;
  const std::string right =
      session::MakeFrame(FrameKind::kHello, bytes.substr(16));
  bytes.replace(0, 3, right, 0, 3);  // magic, version
  bytes.replace(8, 8, right, 8, 8);  // length, zeros
  bytes[3] = static_cast<char>(1 + static_cast<uint8_t>(bytes[3]) % 5);
  return bytes;
}

// --- The reader.

template <typename Part, typename Visit>
void ReadParts(const session::Frame& frame, FrameKind kind,
               absl::string_view bytes, const Visit& visit) {
  session::FrameWriter writer(kind);
  uint32_t parts = 0;
  const absl::Status whole = visit(frame, [&](const Part& part) {
    CHECK(part.body.empty() || (part.body.begin() >= bytes.begin() &&
                                part.body.end() <= bytes.end()));
    CHECK(writer.HasRoom(part.body.size()) ||
          bytes.size() + 64 > session::kMaxFrameBytes);
    writer.Add(part);
    ++parts;
    return true;
  });
  CHECK_LE(parts, frame.count);
  if (!whole.ok()) return;
  // A frame is the same after it was read and written again.
  CHECK_EQ(parts, frame.count);
  const std::string again = writer.Take();
  const auto reread = session::ParseFrame(again);
  CHECK(reread.ok()) << reread.status();
  CHECK_EQ(again.size(), bytes.size());
}

void RunReader(Input input) {
  const bool forged = input.Number(1) % 2 == 1;
  const std::string bytes = FrameOf(&input, forged);
  const auto frame = session::ParseFrame(bytes);
  if (!frame.ok()) {
    CHECK(absl::IsInvalidArgument(frame.status()));
    return;
  }
  ReadParts<session::Request>(*frame, FrameKind::kRequests, bytes,
                              session::VisitRequests);
  ReadParts<session::Response>(*frame, FrameKind::kResponses, bytes,
                               session::VisitResponses);
}

// --- A client.

class SilentWire final : public client::Wire {
 public:
  void Send(std::string frame) override {
    CHECK(session::ParseFrame(frame).ok());
  }
  void Close() override { closed = true; }

  bool closed = false;
};

// Each request is answered once, whatever the node says.
void RunClient(Input input) {
  absl::Time now = absl::UnixEpoch();
  auto wire = std::make_shared<SilentWire>();
  std::shared_ptr<client::WireHandler> handler;
  int opened = 0;
  int answered = 0;
  int sent = 0;
  const auto connection = client::Connection::Open(
      kamino::v1::SessionHello(),
      [&](std::shared_ptr<client::WireHandler> to) {
        handler = std::move(to);
        return wire;
      },
      [&now] { return now; }, [&](const auto&, const auto&) { ++opened; });
  while (!input.empty() && !wire->closed) {
    const uint64_t step = input.Number(1) % kSteps;
    if (step == kRaw || step == kForged || step == kConnect) {
      handler->OnFrame(FrameOf(&input, step != kRaw));
    } else if (step == kTime) {
      now += absl::Milliseconds(20 << input.Number(1) % 8);
      connection->EndOverdue(now);
    } else {
      sent += connection->Send(
          static_cast<Method>(1 + input.Number(1) % session::kLastMethod),
          input.Number(2), absl::Milliseconds(100), input.Bytes(20),
          [&](const client::Connection::Answer&) { ++answered; });
    }
    CHECK_LE(answered, sent);
  }
  handler->OnWireClosed(absl::UnavailableError("the end"));
  CHECK_EQ(answered, sent);
  CHECK_EQ(opened, 1);
  CHECK(connection->over());
}

// --- A node.

// A connection's outcome, as its client sees it.
struct Peer {
  std::map<uint32_t, int> unanswered;  // requests, by tag
  bool takes = true;
  size_t unsent = 0;
  int welcomes = 0;
  int fulfilled = 0;  // requests
};

class PeerCarrier final : public node::SessionCarrier {
 public:
  explicit PeerCarrier(std::shared_ptr<Peer> peer) : peer_(std::move(peer)) {}

  void Send(std::string bytes) override {
    const auto frame = session::ParseFrame(bytes);
    CHECK(frame.ok()) << frame.status();
    if (!peer_->takes) peer_->unsent += bytes.size();
    CHECK_LE(peer_->unsent, 2 * kMaxUnsent + kMaxAnswers);
    if (frame->kind != FrameKind::kResponses) {
      CHECK(frame->kind == FrameKind::kWelcome ||
            frame->kind == FrameKind::kGoodbye);
      peer_->welcomes += frame->kind == FrameKind::kWelcome;
      return;
    }
    CHECK(session::VisitResponses(*frame, [this](const auto& response) {
            CHECK_GE(--peer_->unanswered[response.tag], 0) << response.tag;
            peer_->fulfilled += response.code == 0;
            return true;
          }).ok());
  }
  size_t unsent() const override { return peer_->unsent; }
  void Close() override {}
  void Abort() override {}
  void OnWritable() override { peer_->unsent = 0; }
  std::string peer() const override { return "fuzz"; }

 private:
  const std::shared_ptr<Peer> peer_;
};

const Situation& Single() {
  const auto& all = Situations();
  const auto found =
      std::find_if(all.begin(), all.end(), [](const Situation& situation) {
        return situation.view.members.size() == 1;
      });
  CHECK(found != all.end()) << "no node is a chain by itself";
  return *found;
}

class FuzzedServer {
 public:
  FuzzedServer() {
    const Situation& situation = Single();
    SimMedia media(&disk_);
    for (const auto& [part, image] : situation.snapshot.parts) {
      CHECK(media.Create(part, image.size()).ok());
      CHECK(media.Publish(part).ok());
      disk_.region(part)->Reset(image.data());
    }
    auto storage = Storage::Open(situation.snapshot.storage,
                                 std::make_unique<SimMedia>(&disk_));
    CHECK(storage.ok()) << storage.status();
    node::NodeOptions options = situation.snapshot.node;
    options.links.offers = {{links_.Transports(), "here"}};
    node::NodeRuntime runtime;
    runtime.clock = [this] { return now_; };
    auto executor = std::make_unique<ManualExecutor>();
    executor_ = executor.get();
    runtime.executor = std::move(executor);
    Node::Events events;
    events.fatal = [](const absl::Status& why) { LOG(FATAL) << why; };
    events.role = [](membership::Role, bool) {};
    auto node =
        Node::Create(std::move(options), std::move(runtime),
                     *std::move(storage), &procedures_, &views_, events);
    CHECK(node.ok()) << node.status();
    node_ = *std::move(node);
    node::SessionServerOptions limits;
    limits.limits.max_requests = 8;
    limits.limits.max_request_bytes = 8192;
    limits.limits.max_unsent_bytes = kMaxUnsent;
    server_ = std::make_unique<SessionServer>(limits, node_.get());
    CHECK(node_->Join("here").ok());
    views_.callbacks.on_view(situation.view);
    RunBatches();
    for (size_t i = 0; i < kConnections; ++i) Connect(i);
  }
  ~FuzzedServer() {
    node_->Stop();
    server_.reset();
    node_.reset();
    disk_.Kill();
  }

  void Take(Input* input) {
    const uint64_t step = input->Number(1) % kSteps;
    const size_t which = input->Number(1) % kConnections;
    Peer& peer = *peers_[which];
    now_ += absl::Milliseconds(1);
    switch (step) {
      case kConnect:
        Connect(which);
        break;
      case kRaw:
      case kForged:
        Frame(which, FrameOf(input, step == kForged));
        break;
      case kHello:
        Hello(which, input);
        break;
      case kTime:
        now_ += absl::Milliseconds(20 << input->Number(1) % 8);
        executor_->Tick();
        break;
      case kTakes:
        peer.takes = !peer.takes;
        if (peer.takes) server_->OnWritable(ids_[which]);
        break;
      case kGone:
        server_->OnClosed(ids_[which]);
    }
    RunBatches();
  }

  // The outcome of the connections as they are.
  SessionRun Told() const {
    SessionRun told;
    for (const auto& peer : peers_) {
      told.welcomes += peer->welcomes;
      told.fulfilled += peer->fulfilled;
    }
    return told;
  }

 private:
  void Connect(size_t which) {
    server_->OnClosed(ids_[which]);
    ids_[which] = server_->NewId();
    peers_[which] = std::make_shared<Peer>();
    server_->Open(ids_[which], std::make_unique<PeerCarrier>(peers_[which]));
  }

  void Hello(size_t which, Input* input) {
    kamino::v1::SessionHello hello;
    hello.set_min_version(1);
    hello.set_max_version(1);
    auto* const asked_for = hello.mutable_session();
    asked_for->set_id(input->Number(1) % 4);
    asked_for->set_epoch(input->Number(1) % 3);
    asked_for->set_window(static_cast<uint32_t>(input->Number(2)));
    asked_for->set_lease_ms(static_cast<uint32_t>(input->Number(2)));
    Frame(which,
          session::MakeFrame(FrameKind::kHello, hello.SerializeAsString()));
  }

  void Frame(size_t which, std::string bytes) {
    const auto frame = session::ParseFrame(bytes);
    if (frame.ok() && frame->kind == FrameKind::kRequests) {
      (void)session::VisitRequests(*frame, [&](const auto& request) {
        peers_[which]->unanswered[request.tag] +=
            request.method != Method::kCancel &&
            request.method != Method::kTrace;
        return true;
      });
    }
    server_->Queue(ids_[which], std::move(bytes));
  }

  void RunBatches() {
    for (int i = 0; i < 4 && executor_->RunBatch(); ++i) {
    }
    links_.Settle();
  }

  SimDisk disk_;
  replica::ProcedureRegistry procedures_;
  node::FixedViews views_;
  ScriptedLinks links_;
  ManualExecutor* executor_ = nullptr;  // the node's
  absl::Time now_ = absl::UnixEpoch();
  std::unique_ptr<Node> node_;
  std::unique_ptr<SessionServer> server_;
  std::shared_ptr<Peer> peers_[kConnections];
  uint64_t ids_[kConnections] = {};
};

SessionRun RunNode(Input input) {
  FuzzedServer server;
  while (!input.empty()) server.Take(&input);
  return server.Told();
}

// --- The target.

void Run(absl::string_view bytes) {
  Input input(bytes);
  switch (input.Number(1) % kParties) {
    case kOfReader:
      return RunReader(input);
    case kOfClient:
      return RunClient(input);
    default:
      RunNode(input);
  }
}

void AppendFrame(uint8_t step, int which, const std::string& frame,
                 std::string* to) {
  AppendNumber(step, 1, to);
  if (which >= 0) AppendNumber(static_cast<uint64_t>(which), 1, to);
  AppendNumber(frame.size(), 2, to);
  to->append(frame);
}

std::string RequestsFrame() {
  kamino::v1::PutRequest put;
  put.set_key("key1");
  put.set_value(std::string(200, 'v'));
  kamino::v1::CommitRequest commit;
  commit.add_then_operations()->mutable_get()->set_key("key2");
  kamino::v1::BatchGetRequest get;
  get.add_keys("key0");
  get.add_keys("key3");
  kamino::v1::CallRequest call;
  call.set_procedure("none");
  session::FrameWriter writer(FrameKind::kRequests);
  uint32_t tag = 0;
  const auto add = [&](Method method, uint64_t number,
                       const std::string& body) {
    session::Request request;
    request.tag = ++tag;
    request.method = method;
    request.number = number;
    request.body = body;
    writer.Add(request);
  };
  add(Method::kPut, 1, put.SerializeAsString());
  add(Method::kCommit, 2, commit.SerializeAsString());
  add(Method::kVoid, 3, "");
  add(Method::kBatchGet, 0, get.SerializeAsString());
  add(Method::kCall, 4, call.SerializeAsString());
  add(Method::kKeepAlive, 0, "");
  return writer.Take();
}

std::string CloseFrame() {
  session::FrameWriter writer(FrameKind::kRequests);
  session::Request request;
  request.tag = 99;
  request.method = Method::kClose;
  writer.Add(request);
  return writer.Take();
}

std::string ResponsesFrame() {
  session::FrameWriter writer(FrameKind::kResponses);
  for (uint32_t tag = 1; tag <= 3; ++tag) {
    session::Response response;
    response.tag = tag;
    response.code = tag == 2 ? 9 : 0;
    response.body = "result";
    writer.Add(response);
  }
  return writer.Take();
}

std::vector<std::string> Seeds() {
  std::string of_node = {kOfNode};
  for (int which : {0, 1}) {
    // Its session: the first opens it, the other goes on with it.
    const int epoch = which * static_cast<int>(Single().view.epoch);
    for (const int number : {+kHello, which, 1, epoch, 8, 0, 0, 0x20}) {
      AppendNumber(static_cast<uint64_t>(number), 1, &of_node);
    }
    AppendFrame(kRaw, which, RequestsFrame(), &of_node);
  }
  for (const int number : {+kTime, 0, 4}) {
    AppendNumber(static_cast<uint64_t>(number), 1, &of_node);
  }
  AppendFrame(kForged, 1, CloseFrame(), &of_node);
  AppendFrame(kRaw, 0, RequestsFrame(), &of_node);

  std::string of_client = {kOfClient};
  kamino::v1::SessionWelcome welcome;
  welcome.set_node_id("n1");
  AppendFrame(
      kRaw, -1,
      session::MakeFrame(FrameKind::kWelcome, welcome.SerializeAsString()),
      &of_client);
  for (int i = 0; i < 3; ++i) {
    AppendNumber(kHello, 1, &of_client);
    AppendNumber(3, 1, &of_client);
    of_client.append(22, 'x');
  }
  AppendFrame(kRaw, -1, ResponsesFrame(), &of_client);

  std::vector<std::string> seeds = {std::move(of_node), std::move(of_client)};
  for (const std::string& frame : {RequestsFrame(), ResponsesFrame()}) {
    std::string of_reader = {kOfReader};
    AppendFrame(/*forged=*/1, -1, frame, &of_reader);
    seeds.push_back(std::move(of_reader));
  }
  return seeds;
}

}  // namespace

SessionRun RunValidSession() {
  const std::string of_node = Seeds().front();
  return RunNode(Input(absl::string_view(of_node).substr(1)));
}

Target SessionTarget() { return {"session", Run, Seeds, MutateBytes}; }

}  // namespace kamino::fuzz
