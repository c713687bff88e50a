#include "tests/node/driver/chain_rig.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "replica/builtins.h"
#include "replica/link/chain_frame.h"

namespace kamino::node {

using engine::SimRegion;
using kamino::v1::Operation;
using membership::Member;
using membership::View;
using simulation::TimedNetwork;

namespace {

constexpr char kClusterId[] = "rig";
constexpr size_t kLogBytes = 64u << 10;
constexpr size_t kBackupStep = 4;
constexpr uint64_t kSeedsTried = 200;

size_t CountWords(const std::byte* a, const std::byte* b, size_t begin,
                  size_t end) {
  size_t differ = 0;
  for (size_t at = begin; at + 8 <= end; at += 8) {
    differ += std::memcmp(a + at, b + at, 8) != 0;
  }
  return differ;
}

}  // namespace

Operation Put(const std::string& key, const std::string& value) {
  Operation operation;
  operation.mutable_put()->set_key(key);
  operation.mutable_put()->set_value(value);
  return operation;
}

Operation Patch(const std::string& key, uint64_t offset,
                const std::string& data) {
  Operation operation;
  operation.mutable_patch()->set_key(key);
  operation.mutable_patch()->set_offset(offset);
  operation.mutable_patch()->set_data(data);
  return operation;
}

Operation Delete(const std::string& key) {
  Operation operation;
  operation.mutable_delete_()->set_key(key);
  return operation;
}

namespace {

TimedNetwork::Options NetworkOptionsOf(const ChainRig::Options& options) {
  TimedNetwork::Options network = TimedNetwork::Instant();
  if (options.stranger.empty()) return network;
  network.identity_of = [stranger = options.stranger](const std::string& name) {
    return name == kStranger
               ? stranger
               : absl::StrCat("kamino://", kClusterId, "/node/", name);
  };
  return network;
}

}  // namespace

void TalkingStranger::OnMessage(absl::Span<const std::byte> message) {
  auto frame = replica::DecodeFrame(
      {reinterpret_cast<const char*>(message.data()), message.size()});
  CHECK(frame.ok()) << frame.status();
  heard.push_back(std::move(frame->message));
}

void TalkingStranger::Say(const kamino::internal::v1::ChainMessage& message,
                          absl::string_view payload) const {
  CHECK(link != nullptr) << "there is no link";
  const std::string head = replica::EncodeFrameHead(message);
  const auto bytes = [](absl::string_view text) {
    return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()),
                               text.size());
  };
  (void)link->Send(bytes(head), bytes(payload));
}

ChainRig::ChainRig(Options options)
    : options_(std::move(options)),
      network_(&world_, NetworkOptionsOf(options_)),
      strangers_(*network_.Transports(&stranger_, {.name = "tcp"}).Make({})) {
  network_.SetFilter(
      [this](const TimedNetwork::Passing& passing) { return Pass(passing); });
  view_.cluster_id = kClusterId;
  for (const std::string& name : options_.names) {
    order_.push_back(name);
    nodes_[name] = std::make_unique<RigNode>(&world_, name);
    At(name).self.node_id = name;
  }
}

ChainRig::~ChainRig() {
  for (auto& [name, node] : nodes_) {
    GoDown(node.get());
    Discard(node.get());
  }
}

// --- Life and death.

uint64_t ChainRig::RingBytesOf(const std::string& name) const {
  const auto found = options_.ring_bytes_of.find(name);
  return found == options_.ring_bytes_of.end() ? options_.ring_bytes
                                               : found->second;
}

StorageOptions ChainRig::StorageOptionsOf(const std::string& name) const {
  StorageOptions options;
  options.cluster_id = kClusterId;
  options.mode = options_.mode;
  options.node_id = name;
  options.heap_bytes = options_.heap_bytes;
  options.ring_bytes = RingBytesOf(name);
  options.tiny_log_bytes = kLogBytes;
  options.undo_copy = options_.undo_copy;
  options.alpha = 0.5;
  options.first_incarnation = 100;
  return options;
}

NodeOptions ChainRig::NodeOptionsOf(const std::string& name) const {
  NodeOptions options;
  options.chain.cluster_id = kClusterId;
  options.chain.node_id = name;
  options.links.knows_peers = !options_.stranger.empty();
  options.chain.window_entries = options_.window_entries;
  options.chain.ack_delay = options_.ack_delay;
  options.max_pending_requests = options_.max_pending_requests;
  options.max_pending_bytes = options_.max_pending_bytes;
  options.chain.window_chunks = 2;
  options.chain.chunks_at_once = 1;
  options.chain.cut_bytes = 32u << 10;
  options.chain.transfer_bytes_per_s = options_.transfer_bytes_per_s;
  // As with a real ring, which takes more than a batch.
  options.admission.max_batch_bytes = RingBytesOf(name) / 8;
  options.admission.max_batch = options_.max_batch;
  options.admission.max_unpropagated = options_.max_unpropagated;
  options.admission.probation = options_.probation;
  return options;
}

NodeRuntime ChainRig::RuntimeOf(RigNode* node) {
  NodeRuntime runtime;
  runtime.clock = [this] { return now(); };
  auto executor = std::make_unique<ManualExecutor>();
  node->executor = executor.get();
  runtime.executor = std::move(executor);
  runtime.propagation_step = [] { return kBackupStep; };
  return runtime;
}

ChainRig::Snapshot ChainRig::TakeSnapshot(const std::string& name) {
  Snapshot snapshot;
  snapshot.storage = StorageOptionsOf(name);
  snapshot.node = NodeOptionsOf(name);
  using Part = Media::Part;
  for (const Part part : {Part::kHeap, Part::kRing, Part::kUndoCopy}) {
    const SimRegion* region = At(name).disk.region(part);
    if (region == nullptr) continue;
    snapshot.parts[part] =
        SimRegion::Image(region->base(), region->base() + region->size());
  }
  return snapshot;
}

void ChainRig::Start(const std::string& name) {
  RigNode* const node = &At(name);
  CHECK(!node->up()) << name << " is up";
  node->fatal = absl::OkStatus();
  auto storage = Storage::Open(StorageOptionsOf(name),
                               std::make_unique<SimMedia>(&node->disk));
  if (!storage.ok()) {
    node->fatal = storage.status();
    return;
  }
  node->storage = storage->get();
  node->self.incarnation = node->storage->record()->state().incarnation;
  node->Begin();
  Node::Events events;
  events.fatal = [this, node](const absl::Status& status) {
    if (!node->up()) return;
    node->fatal = status;
    if (options_.outlives_fatal) return;
    node->disk.Kill();
    GoDown(node);
  };
  events.role = [](membership::Role, bool) {};
  NodeOptions options = NodeOptionsOf(name);
  options.links.offers = {{network_.Transports(node, {.name = "tcp"}),
                           absl::StrCat(name, ":", node->self.incarnation)}};
  auto made =
      Node::Create(std::move(options), RuntimeOf(node), std::move(*storage),
                   &procedures_, node, std::move(events));
  CHECK(made.ok()) << made.status();
  node->node = std::move(*made);
  CHECK(node->node->Join(name).ok());
  SetHooks(node);
  if (!view_.formed()) return;
  Tell(name);
}

void ChainRig::StartAll() {
  for (const std::string& name : order_) {
    if (!up(name)) Start(name);
  }
}

void ChainRig::SetHooks(RigNode* node) {
  SimRegion* heap = node->disk.region(Media::Part::kHeap);
  heap->SetFlushHook([this, node] { OnHeap(node, Moment::kFlush); });
  heap->SetDrainHook([this, node] { OnHeap(node, Moment::kDrain); });
}

void ChainRig::CutPowerAt(const std::string& name, Moment moment, int count) {
  RigNode& node = At(name);
  node.moment = moment;
  node.countdown = count;
  node.tear = Tear();
}

void ChainRig::OnHeap(RigNode* node, Moment moment) {
  if (!node->up() || node->countdown == 0 || moment != node->moment) return;
  const replica::LogRing& ring = *node->storage->ring();
  // A head executes before the operation gets into its ring.
  const bool executes = ring.received() > ring.applied() ||
                        node->node->chain_node().core().place().is_head();
  if (!executes || --node->countdown > 0) return;
  Tearing(node);
}

void ChainRig::Tearing(RigNode* node) {
  const SimRegion& heap = *node->disk.region(Media::Part::kHeap);
  const replica::LogRing& ring = *node->storage->ring();
  const size_t begin = node->storage->heap()->objects_begin();
  Tear tear;
  tear.happened = true;
  tear.received = ring.received();
  tear.applied = ring.applied();
  for (uint64_t last = ring.applied(); last < ring.received();) {
    const replica::LogEntry entry = ring.EntryOf(last + 1);
    last = entry.last();
    const auto write_set = entry.WriteSet();
    for (const engine::Intent& intent : *write_set) {
      ++tear.intents;
      const size_t at = intent.object + intent.offset;
      tear.touched += std::memcmp(heap.base() + at, heap.durable() + at,
                                  intent.length) != 0;
    }
  }
  // The disk takes its parts in order, the heap first, each with the next seed.
  uint64_t chosen = 1;
  for (uint64_t seed = 1; seed <= kSeedsTried && !tear.torn(); ++seed) {
    const SimRegion::Image image = heap.CrashImage(seed + 1);
    tear.lost_words = CountWords(image.data(), heap.base(), begin, heap.size());
    tear.kept_words =
        CountWords(image.data(), heap.durable(), begin, heap.size());
    if (tear.torn()) chosen = seed;
  }
  node->tear = tear;
  node->disk.Crash(chosen);
  GoDown(node);
}

void ChainRig::CutPower(const std::string& name, uint64_t seed) {
  RigNode* const node = &At(name);
  node->disk.Crash(seed);
  GoDown(node);
  Discard(node);
}

void ChainRig::GoDown(RigNode* node) {
  if (!node->up()) return;
  node->End();
  network_.Died(node);
}

void ChainRig::Discard(RigNode* node) {
  node->countdown = 0;
  node->inbox.clear();
  node->node.reset();
  node->storage = nullptr;
  node->disk.Bury();
}

// --- Views and links.

void ChainRig::InstallView(const std::vector<std::string>& members) {
  StoreView(members);
  for (const std::string& name : order_) Tell(name);
}

void ChainRig::StoreView(const std::vector<std::string>& members) {
  View view;
  view.cluster_id = kClusterId;
  view.id = view_.id + 1;
  for (const std::string& name : members) {
    view.members.push_back(At(name).self);
    // Another one once it has joined anew.
    if (!up(name)) continue;
    view.members.back().heap_id =
        replica::BytesOf(storage(name).record()->state().heap_id);
  }
  if (options_.agrees) view.Agree(/*before=*/{});
  view_ = view;
}

void ChainRig::Tell(const std::string& name) {
  RigNode* const node = &At(name);
  node->Deliver([node, view = view_] { node->callbacks.on_view(view); });
}

void ChainRig::Invite(const std::string& name, bool invited) {
  RigNode* const node = &At(name);
  node->Deliver([node, invited] { node->callbacks.on_invited(invited); });
}

bool ChainRig::Pass(const TimedNetwork::Passing& passing) {
  if ((!filter_ && !tap_) || passing.from == kStranger) return true;
  auto frame = replica::DecodeFrame(*passing.bytes);
  CHECK(frame.ok()) << frame.status();
  ChainMessage& message = frame->message;
  std::string payload(frame->payload);
  if (filter_) {
    if (!filter_(passing.from, passing.to, &message, &payload)) return false;
    if (!message.has_append()) payload.clear();
    *passing.bytes = replica::EncodeFrameHead(message) + payload;
  }
  if (tap_) tap_(passing.to, passing.link, message, payload);
  return true;
}

void ChainRig::ChangeNext(const std::string& from, const std::string& to,
                          const std::function<bool(const ChainMessage&)>& due,
                          const std::function<void(ChainMessage*)>& change) {
  changed_ = false;
  SetFilter([=, this](const std::string& sender, const std::string& receiver,
                      ChainMessage* message, std::string*) {
    if (!changed_ && sender == from && receiver == to && due(*message)) {
      changed_ = true;
      change(message);
    }
    return true;
  });
}

std::shared_ptr<const SilentStranger> ChainRig::Connect(const std::string& to) {
  auto handler = std::make_shared<SilentStranger>();
  const std::string address = absl::StrCat(to, ":", At(to).self.incarnation);
  CHECK(strangers_->Connect(address, handler).ok());
  return handler;
}

std::shared_ptr<TalkingStranger> ChainRig::Talk(const std::string& to) {
  auto handler = std::make_shared<TalkingStranger>();
  const std::string address = absl::StrCat(to, ":", At(to).self.incarnation);
  CHECK(strangers_->Connect(address, handler).ok());
  Settle(2);
  return handler;
}

void ChainRig::ChangeNextEntry(
    const std::string& from, const std::string& to,
    const std::function<void(std::string*)>& change) {
  changed_ = false;
  SetFilter([=, this](const std::string& sender, const std::string& receiver,
                      ChainMessage* message, std::string* payload) {
    if (!changed_ && sender == from && receiver == to &&
        message->has_append()) {
      changed_ = true;
      change(payload);
    }
    return true;
  });
}

// --- Time.

bool ChainRig::Step() {
  world_.RunUntil(now());
  for (size_t i = 0; i < order_.size(); ++i) {
    RigNode& node = At(order_[(next_ + i) % order_.size()]);
    if (node.inbox.empty() || node.held) continue;
    next_ = (next_ + i + 1) % order_.size();
    Run(&node);
    return true;
  }
  return false;
}

bool ChainRig::Step(uint64_t choice) {
  next_ = choice % order_.size();
  return Step();
}

void ChainRig::Settle(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    for (int steps = 0; Step(); ++steps) CHECK_LT(steps, 1000000);
    Tick();
  }
}

void ChainRig::Tick() {
  world_.RunUntil(now() + absl::Milliseconds(25));
  for (const std::string& name : order_) {
    RigNode* const node = &At(name);
    node->Deliver([node] { node->executor->Tick(); });
  }
}

void ChainRig::Run(RigNode* node) {
  const auto input = std::move(node->inbox.front());
  node->inbox.pop_front();
  input();
  const bool more = node->executor->RunBatch();
  if (!node->up()) return Discard(node);
  // The rest has its turn soon, without a tick.
  if (more) node->Deliver([] {});
}

// --- Clients.

const std::string& ChainRig::head() const { return view_.head().node_id; }

std::shared_ptr<Issued> ChainRig::Issue(
    uint64_t client, const std::vector<Operation>& operations) {
  auto issued = std::make_shared<Issued>();
  kamino::v1::CommitRequest commit;
  for (const Operation& operation : operations) {
    *commit.add_then_operations() = operation;
  }
  issued->operations = operations;
  issued->request.function = replica::kCommitFunction;
  issued->request.arguments = commit.SerializeAsString();
  issued->request.client_id = client;
  issued->request.number = ++numbers_[client];
  issued_.push_back(issued);
  return issued;
}

std::shared_ptr<Issued> ChainRig::Submit(
    uint64_t client, const std::vector<Operation>& operations) {
  auto issued = Issue(client, operations);
  Retry(issued);
  return issued;
}

std::vector<std::shared_ptr<Issued>> ChainRig::PutTogether(
    const std::vector<uint64_t>& clients) {
  std::vector<std::shared_ptr<Issued>> all;
  for (const uint64_t client : clients) {
    all.push_back(Issue(client, {Put(absl::StrCat("of ", client), "x")}));
  }
  RigNode* const to = &At(head());
  to->Deliver([to, all] {
    for (const auto& issued : all) Mutate(to, issued);
  });
  return all;
}

void ChainRig::Retry(const std::shared_ptr<Issued>& issued) {
  RigNode* const to = &At(head());
  to->Deliver([to, issued] { Mutate(to, issued); });
}

void ChainRig::Mutate(RigNode* to, const std::shared_ptr<Issued>& issued) {
  head::Request request;
  request.mutation = issued->request;
  request.by = issued->by;
  request.done = [to, issued](head::RequestOutcome outcome) {
    if (!to->up()) return;
    ++issued->answers;
    issued->outcome = std::move(outcome);
  };
  to->node->Mutate(std::move(request));
}

}  // namespace kamino::node
