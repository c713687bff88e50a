#include "tests/head/chain_rig.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "engine/heap/heap_reader.h"
#include "engine/index/key_value.h"
#include "glog/logging.h"
#include "replica/builtins.h"

namespace kamino::head {

using engine::SimRegion;
using kamino::v1::Operation;
using membership::Member;
using membership::View;
using replica::Actions;

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

ChainRig::ChainRig(Options options) : options_(std::move(options)) {
  view_.cluster_id = kClusterId;
  for (const std::string& name : options_.names) {
    order_.push_back(name);
    nodes_[name] = std::make_unique<RigNode>();
    At(name).name = name;
  }
}

ChainRig::~ChainRig() {
  for (auto& [name, node] : nodes_) {
    node->crashed = true;
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
  options.node_id = name;
  options.heap_bytes = options_.heap_bytes;
  options.ring_bytes = RingBytesOf(name);
  options.tiny_log_bytes = kLogBytes;
  options.backup = options_.backup;
  options.alpha = 0.5;
  options.first_incarnation = 100;
  return options;
}

ChainNode::Options ChainRig::NodeOptionsOf(const std::string& name) const {
  ChainNode::Options options;
  options.chain.cluster_id = kClusterId;
  options.chain.node_id = name;
  options.chain.incarnation = At(name).incarnation;
  options.chain.heap_bytes = options_.heap_bytes;
  options.chain.agreement = {{"ring bytes", absl::StrCat(RingBytesOf(name))}};
  options.chain.window_chunks = 2;
  options.chain.chunks_at_once = 1;
  options.chain.cut_bytes = 32u << 10;
  options.chain.transfer_bytes_per_s = options_.transfer_bytes_per_s;
  options.lease_valid = [](uint64_t) { return true; };
  return options;
}

ChainRig::Snapshot ChainRig::TakeSnapshot(const std::string& name) {
  Snapshot snapshot;
  snapshot.storage = StorageOptionsOf(name);
  snapshot.node = NodeOptionsOf(name);
  ++snapshot.node.chain.incarnation;
  using Part = Media::Part;
  for (const Part part : {Part::kHeap, Part::kRing, Part::kBackup}) {
    const SimRegion* region = At(name).disk.region(part);
    if (region == nullptr) continue;
    snapshot.parts[part] =
        SimRegion::Image(region->base(), region->base() + region->size());
  }
  return snapshot;
}

void ChainRig::Start(const std::string& name) {
  RigNode& node = At(name);
  CHECK(node.node == nullptr) << name << " is up";
  node.crashed = false;
  node.fatal = absl::OkStatus();
  auto storage = Storage::Open(StorageOptionsOf(name),
                               std::make_unique<SimMedia>(&node.disk));
  if (!storage.ok()) {
    node.fatal = storage.status();
    return;
  }
  node.storage = std::move(*storage);
  node.incarnation = node.storage->record()->state().incarnation;
  node.node = std::make_unique<ChainNode>(NodeOptionsOf(name),
                                          node.storage.get(), &procedures_);
  SetHooks(&node);
  if (!view_.formed()) return;
  node.inbox.push_back([view = view_](ChainNode& chain, absl::Time now) {
    chain.OnView(view, now);
  });
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
  if (node->crashed || node->countdown == 0 || moment != node->moment) return;
  const replica::OperationRing& ring = *node->storage->ring();
  // A head executes before the operation gets into its ring.
  const bool executes = ring.received() > ring.applied() ||
                        (node->node != nullptr && node->node->core().is_head());
  if (!executes || --node->countdown > 0) return;
  Tearing(node);
}

void ChainRig::Tearing(RigNode* node) {
  const SimRegion& heap = *node->disk.region(Media::Part::kHeap);
  const replica::OperationRing& ring = *node->storage->ring();
  const size_t begin = node->storage->heap()->objects_begin();
  Tear tear;
  tear.happened = true;
  tear.received = ring.received();
  tear.applied = ring.applied();
  for (uint64_t last = ring.applied(); last < ring.received();) {
    const replica::OperationRing::Entry entry = ring.EntryOf(last + 1);
    last = entry.last;
    const auto operation = replica::ParseOperation(entry.operation);
    for (const auto& intent : operation->write_set()) {
      ++tear.intents;
      const size_t at = intent.object() + intent.offset();
      tear.touched += std::memcmp(heap.base() + at, heap.durable() + at,
                                  intent.length()) != 0;
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
  node->crashed = true;
  node->disk.Crash(chosen);
}

void ChainRig::CutPower(const std::string& name, uint64_t seed) {
  RigNode& node = At(name);
  node.crashed = true;
  node.disk.Crash(seed);
  Discard(&node);
}

void ChainRig::Discard(RigNode* node) {
  node->countdown = 0;
  node->inbox.clear();
  node->node.reset();
  node->storage.reset();
  node->disk.Bury();
  std::vector<End> ends;
  for (const auto& [end, peer] : peers_) {
    if (end.first == node->name) ends.push_back(end);
  }
  for (const End& end : ends) Break(end);
}

// --- Views and links.

void ChainRig::InstallView(const std::vector<std::string>& members) {
  View view;
  view.cluster_id = kClusterId;
  view.id = view_.id + 1;
  for (const std::string& name : members) {
    Member member;
    member.node_id = name;
    member.incarnation = At(name).incarnation;
    view.members.push_back(member);
  }
  view_ = view;
  for (const std::string& name : order_) {
    if (!up(name)) continue;
    At(name).inbox.push_back(
        [view](ChainNode& node, absl::Time now) { node.OnView(view, now); });
  }
}

void ChainRig::Invite(const std::string& name, bool invited) {
  At(name).inbox.push_back([invited](ChainNode& node, absl::Time now) {
    node.OnInvited(invited, now);
  });
}

void ChainRig::BreakLinks(const std::string& a, const std::string& b) {
  std::vector<End> ends;
  for (const auto& [end, peer] : peers_) {
    if (end.first == a && peer.first == b) ends.push_back(end);
  }
  for (const End& end : ends) Break(end);
}

void ChainRig::Connect(RigNode* node, const Actions::Open& open) {
  const LinkId link = open.link;
  const std::string& to = open.member.node_id;
  if (!up(to) || At(to).incarnation != open.member.incarnation) {
    node->inbox.push_back([link](ChainNode& chain, absl::Time now) {
      chain.OnLinkClosed(link, now);
    });
    return;
  }
  RigNode& peer = At(to);
  const LinkId accepted = peer.next_accepted;
  peer.next_accepted += 2;
  peers_[{node->name, link}] = {to, accepted};
  peers_[{to, accepted}] = {node->name, link};
  node->inbox.push_back([link](ChainNode& chain, absl::Time now) {
    chain.OnLinkOpened(link, now);
  });
}

void ChainRig::Break(const End& end) {
  const auto found = peers_.find(end);
  if (found == peers_.end()) return;
  const End other = found->second;
  peers_.erase(end);
  peers_.erase(other);
  for (const End& side : {end, other}) {
    if (!up(side.first)) continue;
    At(side.first)
        .inbox.push_back(
            [link = side.second](ChainNode& chain, absl::Time now) {
              chain.OnLinkClosed(link, now);
            });
  }
}

void ChainRig::ChangeNext(const std::string& from, const std::string& to,
                          const std::function<bool(const ChainMessage&)>& due,
                          const std::function<void(ChainMessage*)>& change) {
  changed_ = false;
  SetFilter([=, this](const std::string& sender, const std::string& receiver,
                      ChainMessage* message) {
    if (!changed_ && sender == from && receiver == to && due(*message)) {
      changed_ = true;
      change(message);
    }
    return true;
  });
}

// --- Time.

bool ChainRig::Step() {
  for (size_t i = 0; i < order_.size(); ++i) {
    RigNode& node = At(order_[(next_ + i) % order_.size()]);
    if (node.inbox.empty() || node.held) continue;
    next_ = (next_ + i + 1) % order_.size();
    const Input input = std::move(node.inbox.front());
    node.inbox.pop_front();
    Run(&node, input);
    return true;
  }
  return false;
}

void ChainRig::Settle(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    for (int steps = 0; Step(); ++steps) CHECK_LT(steps, 1000000);
    Tick();
  }
}

void ChainRig::Tick() {
  now_ += absl::Milliseconds(25);
  for (const std::string& name : order_) {
    if (!up(name)) continue;
    At(name).inbox.push_back(
        [](ChainNode& node, absl::Time now) { node.OnTick(now); });
  }
}

void ChainRig::Run(RigNode* node, const Input& input) {
  input(*node->node, now_);
  const Actions actions = node->node->EndOfBatch(now_);
  if (!node->crashed) {
    CarryOut(node, actions);
    // What is left has its turn soon, and no tick has to come for it.
    if (node->node != nullptr && node->node->ApplyBackup(kBackupStep)) {
      node->inbox.push_back([](ChainNode&, absl::Time) {});
    }
  }
  if (node->crashed) Discard(node);
}

void ChainRig::CarryOut(RigNode* node, const Actions& actions) {
  if (!actions.fatal.ok()) {
    node->fatal = actions.fatal;
    node->disk.Kill();
    node->crashed = true;
    return;
  }
  for (LinkId link : actions.close) Break({node->name, link});
  for (const Actions::Open& open : actions.open) Connect(node, open);
  for (const Actions::Send& send : actions.send) {
    const auto peer = peers_.find({node->name, send.link});
    if (peer == peers_.end()) continue;
    const auto [to, link] = peer->second;
    ChainMessage message = send.message;
    if (filter_ && !filter_(node->name, to, &message)) continue;
    if (tap_) tap_(to, link, message);
    // A link that is gone by then delivers nothing.
    At(to).inbox.push_back(
        [this, end = peer->second, message](ChainNode& chain, absl::Time now) {
          if (peers_.count(end) == 0) return;
          chain.OnMessage(end.second, message, now);
        });
  }
}

// --- Clients.

const std::string& ChainRig::head() const { return view_.head().node_id; }

std::shared_ptr<Issued> ChainRig::Submit(
    uint64_t client, const std::vector<Operation>& operations) {
  auto issued = std::make_shared<Issued>();
  kamino::v1::CommitRequest commit;
  for (const Operation& operation : operations) {
    *commit.add_then_operations() = operation;
  }
  issued->operations = operations;
  issued->request.set_function(replica::kCommitFunction);
  issued->request.set_arguments(commit.SerializeAsString());
  issued->request.set_client_id(client);
  issued->request.set_number(++numbers_[client]);
  issued_.push_back(issued);
  Retry(issued);
  return issued;
}

void ChainRig::Retry(const std::shared_ptr<Issued>& issued) {
  SubmitTo(head(), issued);
}

void ChainRig::SubmitTo(const std::string& name,
                        const std::shared_ptr<Issued>& issued) {
  RigNode* to = &At(name);
  to->inbox.push_back([to, issued](ChainNode& node, absl::Time now) {
    Request request;
    request.request = issued->request;
    request.done = [to, issued](RequestOutcome outcome) {
      if (to->crashed) return;
      ++issued->answers;
      issued->outcome = std::move(outcome);
    };
    node.Submit(std::move(request), now);
  });
}

// --- What is.

absl::StatusOr<ChainRig::Contents> ChainRig::ReadAll(const std::string& name) {
  engine::Heap* const heap = At(name).storage->heap();
  replica::StateMachine state(&procedures_, heap->root());
  engine::HeapReader reader(heap);
  auto objects = state.Objects(reader);
  if (!objects.ok()) return objects.status();
  Contents contents;
  absl::Status status =
      objects->Scan("", "", 0, [&](absl::string_view key, const auto& entry) {
        contents[absl::StrCat("object ", key)] = std::string(entry.value);
        return true;
      });
  if (!status.ok()) return status;
  status = state.VisitClients(reader, [&](uint64_t id, const auto& outcome) {
    contents[absl::StrCat("client ", id)] = absl::StrCat(outcome.number());
    return true;
  });
  if (!status.ok()) return status;
  return contents;
}

ChainRig::Contents ChainRig::Expected() const {
  std::vector<std::shared_ptr<Issued>> all;
  for (const auto& issued : issued_) {
    if (issued->acknowledged()) all.push_back(issued);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a->outcome.sequence < b->outcome.sequence;
  });
  Contents contents;
  for (const auto& issued : all) {
    for (const Operation& operation : issued->operations) {
      if (operation.has_put()) {
        contents[absl::StrCat("object ", operation.put().key())] =
            operation.put().value();
      } else if (operation.has_patch()) {
        const auto& patch = operation.patch();
        contents[absl::StrCat("object ", patch.key())].replace(
            patch.offset(), patch.data().size(), patch.data());
      } else {
        contents.erase(absl::StrCat("object ", operation.delete_().key()));
      }
    }
    contents[absl::StrCat("client ", issued->request.client_id())] =
        absl::StrCat(issued->request.number());
  }
  return contents;
}

std::string ChainRig::CheckAtRest(const RigNode& node,
                                  uint64_t received) const {
  if (node.node == nullptr) {
    return absl::StrCat(node.name, " is down: ", node.fatal.ToString());
  }
  const replica::ChainCore& core = node.node->core();
  if (core.view().id != view_.id || !core.ready()) {
    return absl::StrCat(node.name, " is in view ", core.view().id, " and ",
                        membership::ConditionName(core.condition()));
  }
  const replica::OperationRing& ring = core.ring();
  if (ring.received() != received || ring.applied() != received ||
      ring.cleaned() != received || ring.bytes_used() != 0) {
    return absl::StrCat(node.name, " has received ", ring.received(),
                        ", applied ", ring.applied(), ", cleaned ",
                        ring.cleaned(), " of ", received);
  }
  if (!core.is_head()) return "";
  const auto admission = node.node->admission_stats();
  const auto store = node.node->store_stats();
  if (!admission.has_value()) return absl::StrCat(node.name, " is no head");
  if (admission->in_flight + admission->parked + store->backup_pending +
          store->held + store->locked_objects !=
      0) {
    return absl::StrCat(node.name, " has something under way");
  }
  return "";
}

std::string ChainRig::Difference() {
  const Contents expected = Expected();
  const std::string& head = this->head();
  if (!up(head)) return CheckAtRest(At(head), 0);
  const engine::HeapStats first = storage(head).heap()->stats();
  for (const Member& member : view_.members) {
    const std::string& name = member.node_id;
    std::string wrong = CheckAtRest(At(name), ring(head).received());
    if (!wrong.empty()) return wrong;
    auto contents = ReadAll(name);
    if (!contents.ok()) {
      return absl::StrCat(name, ": ", contents.status().ToString());
    }
    if (*contents != expected) {
      for (const auto& [key, value] : expected) {
        if (contents->count(key) == 0) {
          return absl::StrCat(name, " lacks ", key);
        }
        if ((*contents)[key] != value) {
          return absl::StrCat(name, " holds another ", key);
        }
      }
      return absl::StrCat(name, " holds too much");
    }
    const engine::HeapStats stats = storage(name).heap()->stats();
    if (stats.bytes_used != first.bytes_used ||
        stats.objects != first.objects) {
      return absl::StrCat(name, " has ", stats.objects, " objects of ",
                          stats.bytes_used, " bytes, ", head, " ",
                          first.objects, " of ", first.bytes_used);
    }
  }
  return "";
}

}  // namespace kamino::head
