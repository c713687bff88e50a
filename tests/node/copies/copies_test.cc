// How often a value is copied on its way from a client's request through a
// chain of three. Each node is the one that ships, on files; what is counted is
// what a step of a node leaves in memory that was not there before it
// (tests/node/copies/marked_value.h). Not counted is what lies outside of a
// node: gRPC's own message before, the kernel's socket buffers between.
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "grpcpp/test/default_reactor_test_peer.h"
#include "gtest/gtest.h"
#include "node/driver/node.h"
#include "node/rpc/kamino_service.h"
#include "node/storage/file_media.h"
#include "replica/procedure.h"
#include "tests/node/copies/marked_value.h"
#include "tests/node/driver/fixed_views.h"
#include "tests/node/driver/manual_executor.h"

namespace kamino::copies {
namespace {

using membership::Member;
using membership::View;
using node::ManualExecutor;
using node::Node;

constexpr size_t kValueBytes = 4096;

// Links whose messages wait, hidden, until they are delivered. What arrives is
// there for as long as the receiver may look at it, as a transport's buffer is.
class HiddenLinks {
 public:
  struct End;
  struct Flight {
    std::shared_ptr<End> to;
    std::string bytes;  // hidden
  };
  struct End {
    std::string node;
    std::shared_ptr<transport::LinkHandler> handler;
    std::weak_ptr<End> peer;
  };

  transport::TransportFactory Transports(const std::string& node);

  // The receiver of the next message; "" when there is none.
  std::string next() const {
    return flights_.empty() ? "" : flights_.front().to->node;
  }
  void DeliverNext() {
    Flight flight = std::move(flights_.front());
    flights_.pop_front();
    Invert(flight.bytes.data(), flight.bytes.size());
    flight.to->handler->OnMessage(
        {reinterpret_cast<const std::byte*>(flight.bytes.data()),
         flight.bytes.size()});
    Invert(flight.bytes.data(), flight.bytes.size());
  }

 private:
  class HiddenLink;
  class HiddenListener;
  class HiddenTransport;

  std::map<std::string, transport::AcceptCallback> acceptors_;  // by node
  std::deque<Flight> flights_;
};

class HiddenLinks::HiddenLink final : public transport::Link {
 public:
  HiddenLink(HiddenLinks* links, std::shared_ptr<End> end)
      : links_(links), end_(std::move(end)) {}

  absl::Status Send(absl::Span<const std::byte> header,
                    absl::Span<const std::byte> payload) override {
    std::string bytes;
    for (const auto& piece : {header, payload}) {
      for (std::byte byte : piece) bytes.push_back(static_cast<char>(~byte));
    }
    links_->flights_.push_back({end_->peer.lock(), std::move(bytes)});
    return absl::OkStatus();
  }
  void Close() override {}
  transport::Capabilities capabilities() const override {
    return {.name = "hidden"};
  }
  std::string peer() const override { return "hidden"; }

 private:
  HiddenLinks* const links_;
  const std::shared_ptr<End> end_;
};

class HiddenLinks::HiddenListener final : public transport::Listener {
 public:
  explicit HiddenListener(std::string address) : address_(std::move(address)) {}
  const std::string& address() const override { return address_; }

 private:
  const std::string address_;
};

class HiddenLinks::HiddenTransport final : public transport::Transport {
 public:
  HiddenTransport(HiddenLinks* links, std::string node)
      : links_(links), node_(std::move(node)) {}

  absl::StatusOr<std::unique_ptr<transport::Listener>> Listen(
      const std::string& address, transport::AcceptCallback acceptor) override {
    links_->acceptors_[address] = std::move(acceptor);
    return std::make_unique<HiddenListener>(address);
  }
  absl::StatusOr<std::shared_ptr<transport::Link>> Connect(
      const std::string& address,
      std::shared_ptr<transport::LinkHandler> handler) override {
    auto here = std::make_shared<End>();
    auto there = std::make_shared<End>();
    here->node = node_;
    there->node = address;
    here->peer = there;
    there->peer = here;
    auto link = std::make_shared<HiddenLink>(links_, here);
    here->handler = std::move(handler);
    there->handler = links_->acceptors_.at(address)(
        std::make_shared<HiddenLink>(links_, there));
    ends_.push_back(here);
    ends_.push_back(there);
    here->handler->OnConnected(link);
    return link;
  }

 private:
  HiddenLinks* const links_;
  const std::string node_;
  std::vector<std::shared_ptr<End>> ends_;
};

transport::TransportFactory HiddenLinks::Transports(const std::string& node) {
  return {{.name = "hidden"}, [this, node](const auto&) {
            return std::make_unique<HiddenTransport>(this, node);
          }};
}

class CopiesTest : public ::testing::Test {
 protected:
  struct Hop {
    replica::ProcedureRegistry procedures;
    node::FixedViews views;
    ManualExecutor* executor = nullptr;  // the node's
    std::unique_ptr<Node> node;
    MarkedValue::Found copied;
  };

  void SetUp() override {
    View view;
    view.cluster_id = "copies";
    view.id = 1;
    for (const char* name : {"n1", "n2", "n3"}) {
      Start(name);
      view.members.push_back(hops_[name].views.self);
    }
    for (auto& [name, hop] : hops_) hop.views.callbacks.on_view(view);
    Settle(nullptr);
  }

  void TearDown() override {
    for (auto& [name, hop] : hops_) hop.node->Stop();
  }

  void Start(const std::string& name) {
    Hop& hop = hops_[name];
    node::StorageOptions storage;
    storage.cluster_id = "copies";
    storage.node_id = name;
    storage.heap_bytes = 1 << 20;
    storage.ring_bytes = 256 << 10;
    storage.tiny_log_bytes = 64 << 10;
    storage.alpha = 0.5;
    auto media = node::FileMedia::Open(
        absl::StrCat(std::getenv("TEST_TMPDIR"), "/", name),
        engine::PmemMode::kForce, /*prefault=*/false);
    ASSERT_TRUE(media.ok()) << media.status();
    auto opened = node::Storage::Open(storage, *std::move(media));
    ASSERT_TRUE(opened.ok()) << opened.status();
    node::NodeOptions options;
    options.chain.cluster_id = "copies";
    options.chain.node_id = name;
    options.links.offers = {{links_.Transports(name), name}};
    node::NodeRuntime runtime;
    runtime.clock = [this] { return now_; };
    auto executor = std::make_unique<ManualExecutor>();
    hop.executor = executor.get();
    runtime.executor = std::move(executor);
    Node::Events events;
    events.fatal = [](const absl::Status& why) { FAIL() << why; };
    events.role = [](membership::Role, bool) {};
    auto node = Node::Create(options, std::move(runtime), *std::move(opened),
                             &hop.procedures, &hop.views, std::move(events));
    ASSERT_TRUE(node.ok()) << node.status();
    hop.node = *std::move(node);
    ASSERT_TRUE(hop.node->Join(name).ok());
  }

  // Does `work` of a node, then its batch, and adds what that has left of
  // `value`.
  void Do(const std::string& name, const MarkedValue* value,
          const std::function<void()>& work) {
    MarkedValue::Found before;
    if (value != nullptr) before = value->Find();
    work();
    while (hops_[name].executor->RunBatch()) {
    }
    if (value == nullptr) return;
    for (const auto& [where, bytes] : value->Find()) {
      hops_[name].copied[where] += bytes - before[where];
    }
  }

  // Until nothing is on its way for a while.
  void Settle(const MarkedValue* value) {
    for (int tick = 0; tick < 3; ++tick) {
      now_ += absl::Milliseconds(25);
      for (auto& [name, hop] : hops_) {
        hop.executor->Tick();
        Do(name, nullptr, [] {});
      }
      while (!links_.next().empty()) {
        Do(links_.next(), value, [this] { links_.DeliverNext(); });
      }
    }
  }

  // A client's put, from its message on.
  void Put(const std::string& key, const MarkedValue& value, uint64_t number) {
    for (auto& [name, hop] : hops_) hop.copied.clear();
    node::KaminoService service(hops_["n1"].node.get());
    kamino::v1::PutRequest request;
    request.mutable_request_id()->set_client_id(7);
    request.mutable_request_id()->set_number(number);
    request.set_key(key);
    request.set_value(value.Make());
    kamino::v1::PutResponse response;
    grpc::CallbackServerContext context;
    grpc::testing::DefaultReactorTestPeer reactor(&context);
    Do("n1", &value, [&] { service.Put(&context, &request, &response); });
    Settle(&value);
    ASSERT_TRUE(reactor.test_status_set());
    ASSERT_TRUE(reactor.test_status().ok())
        << reactor.test_status().error_message();
  }

  // How many copies of the value a node has made, and where.
  std::string Text(const std::string& name) {
    std::vector<std::string> places;
    double all = 0;
    for (const auto& [where, bytes] : hops_[name].copied) {
      if (bytes == 0) continue;
      const double copies = static_cast<double>(bytes) / kValueBytes;
      all += copies;
      places.push_back(
          absl::StrCat(where.empty() ? "memory" : where, " ", copies));
    }
    return absl::StrCat(all, ": ", absl::StrJoin(places, ", "));
  }

  absl::Time now_ = absl::UnixEpoch();
  HiddenLinks links_;
  std::map<std::string, Hop> hops_;
};

// An overwrite: the key is there already. Once each lies in the heap and in the
// ring, and at the head in the undo copy. The others:
//   head: the arguments, of the request; what is kept until the commit;
//   replica: what came, for the core thread.
TEST_F(CopiesTest, CountsCopiesOfAPut) {
  Put("key", MarkedValue(1, kValueBytes), 1);
  Put("key", MarkedValue(2, kValueBytes), 2);
  EXPECT_EQ(Text("n1"),
            "5: memory 2, heap.pmem 1, ring.pmem 1, undo_copy.pmem 1");
  EXPECT_EQ(Text("n2"), "3: memory 1, heap.pmem 1, ring.pmem 1");
  EXPECT_EQ(Text("n3"), "3: memory 1, heap.pmem 1, ring.pmem 1");
}

}  // namespace
}  // namespace kamino::copies
