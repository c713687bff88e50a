#include "tests/replica/transcript_network.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/words.h"
#include "replica/state/scrub_record.h"
#include "tests/replica/describe.h"

namespace kamino::replica {

using membership::Member;
using membership::View;

namespace {

constexpr uint64_t kHeapBytes = 1 << 20;
constexpr size_t kScrubRecordBytes = 4096;
constexpr uint64_t kScrubSeconds = 10;  // a range

}  // namespace

class TearingExecutor final : public Executor {
 public:
  explicit TearingExecutor(FakeHeap* heap) : heap_(heap) {}

  void TearNext(size_t writes) { writes_ = writes; }
  bool torn() const { return torn_; }

  absl::StatusOr<uint64_t> Execute(const LogEntry& entry) override {
    if (!writes_.has_value()) return heap_->Execute(entry);
    heap_->ExecutePart(TextOf(entry), *writes_);
    torn_ = true;
    return absl::AbortedError("the power fails");
  }
  absl::StatusOr<uint64_t> Try(const LogEntry& entry) override {
    return heap_->Try(entry);
  }
  absl::StatusOr<uint64_t> HashImage(const LogEntry& entry) override {
    return heap_->HashImage(entry);
  }
  absl::StatusOr<absl::string_view> ImageOf(
      const engine::Intent& intent) override {
    return heap_->ImageOf(intent);
  }
  absl::Status ReadIntent(const engine::Intent& intent,
                          std::string* bytes) override {
    return heap_->ReadIntent(intent, bytes);
  }
  absl::Status BeginRepair(const engine::WriteSet& intents,
                           bool interrupted) override {
    return heap_->BeginRepair(intents, interrupted);
  }
  absl::Status RepairIntent(const engine::Intent& intent,
                            absl::string_view bytes,
                            RepairDirection direction) override {
    return heap_->RepairIntent(intent, bytes, direction);
  }
  void EndRepair(bool confirmed) override { heap_->EndRepair(confirmed); }

 private:
  FakeHeap* const heap_;
  std::optional<size_t> writes_;
  bool torn_ = false;
};

struct TranscriptNetwork::Node {
  std::string name;
  uint64_t incarnation = 0;
  LinkId next_accepted = 2;
  Disk disk;  // while it is down
  std::optional<Disk> copy;
  // A head's objects before an operation that it has not committed.
  std::optional<FakeHeap::Objects> uncommitted;
  std::string standing;

  // While it is up.
  std::unique_ptr<engine::SimRegion> region;
  std::unique_ptr<LogRing> ring;
  std::unique_ptr<NodeRecord> record;
  std::unique_ptr<engine::SimRegion> scrub_region;
  std::unique_ptr<ScrubRecord> scrub_record;
  std::unique_ptr<FakeHeap> heap;
  std::unique_ptr<TearingExecutor> executor;
  std::unique_ptr<ChainCore> core;
};

TranscriptNetwork::TranscriptNetwork(Print print) : print_(std::move(print)) {}
TranscriptNetwork::~TranscriptNetwork() = default;

// --- Nodes.

void TranscriptNetwork::AddNode(const std::string& name) {
  nodes_[name] = std::make_unique<Node>();
  nodes_[name]->name = name;
  Start(nodes_[name].get(), nullptr);
}

bool TranscriptNetwork::IsUp(const std::string& name) const {
  return Exists(name) && At(name).core != nullptr;
}

std::vector<std::string> TranscriptNetwork::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) names.push_back(name);
  return names;
}

void TranscriptNetwork::Start(Node* node, const Disk* disk) {
  constexpr size_t kBytes = LogRing::kMinTinyBytes;
  ++node->incarnation;
  if (disk == nullptr) {
    node->region = std::make_unique<engine::SimRegion>(kBytes);
    node->ring = *LogRing::Create(node->region.get(), {}, kBytes);
  } else {
    node->region = std::make_unique<engine::SimRegion>(disk->ring);
    node->ring = *LogRing::Open(node->region.get(), {});
  }
  node->record = std::make_unique<NodeRecord>(node->region.get());
  node->scrub_region =
      disk == nullptr ? std::make_unique<engine::SimRegion>(kScrubRecordBytes)
                      : std::make_unique<engine::SimRegion>(disk->scrub_record);
  node->scrub_record =
      std::make_unique<ScrubRecord>(node->scrub_region.get(), 0);
  node->heap = std::make_unique<FakeHeap>(node->ring.get(), node->record.get(),
                                          node->scrub_record.get());
  if (disk == nullptr) {
    node->record->Create(NodeState());
  } else {
    (void)node->record->Open();
    node->heap->objects = disk->objects;
    node->heap->diverges = disk->diverges;
  }
  if (node->uncommitted.has_value()) {
    // Like a head's storage: from its own undo copy.
    node->heap->objects = *node->uncommitted;
    node->ring->TruncateAfter(node->ring->applied());
    node->uncommitted.reset();
  }
  node->executor = std::make_unique<TearingExecutor>(node->heap.get());
  ChainOptions options;
  options.cluster_id = "c";
  options.node_id = node->name;
  options.incarnation = node->incarnation;
  options.heap_bytes = kHeapBytes;
  options.window_entries = 4;
  options.cut_bytes = 1;  // FakeHeap counts objects
  options.chunks_at_once = 1;
  if (scrubs_) {
    options.scrub_bytes_per_s = node->heap->range_bytes() / kScrubSeconds;
  }
  node->core = std::make_unique<ChainCore>(
      options,
      ChainStorage{node->ring.get(), node->record.get(), node->executor.get(),
                   node->heap.get(), node->heap.get()});
  node->standing = StandingOf(*node);
}

void TranscriptNetwork::Stop(Node* node) {
  const std::byte* durable = node->region->durable();
  node->disk.ring.assign(durable, durable + node->region->size());
  const std::byte* scrub_record = node->scrub_region->durable();
  node->disk.scrub_record.assign(scrub_record,
                                 scrub_record + node->scrub_region->size());
  node->disk.objects = node->heap->objects;
  node->disk.diverges = node->heap->diverges;
  node->core.reset();
  node->executor.reset();
  node->heap.reset();
  node->scrub_record.reset();
  node->scrub_region.reset();
  node->record.reset();
  node->ring.reset();
  node->region.reset();
  std::vector<End> ends;
  for (const auto& [end, peer] : peers_) {
    if (end.first == node->name) ends.push_back(end);
  }
  for (const End& end : ends) BreakEnd(end);
}

void TranscriptNetwork::Kill(const std::string& name) { Stop(&At(name)); }

void TranscriptNetwork::SaveCopy(const std::string& name) {
  const Node& node = At(name);
  const std::byte* durable = node.region->durable();
  Disk copy;
  copy.ring.assign(durable, durable + node.region->size());
  const std::byte* scrub_record = node.scrub_region->durable();
  copy.scrub_record.assign(scrub_record,
                           scrub_record + node.scrub_region->size());
  copy.objects = node.heap->objects;
  At(name).copy = copy;
}

void TranscriptNetwork::Restart(const std::string& name, Files files) {
  Node& node = At(name);
  if (files == Files::kOwn) return Start(&node, &node.disk);
  node.uncommitted.reset();
  Start(&node, files == Files::kCopy ? &*node.copy : nullptr);
}

void TranscriptNetwork::TearNext(const std::string& name, size_t writes) {
  At(name).executor->TearNext(writes);
}

void TranscriptNetwork::Rot(const std::string& name) {
  const LogRing& ring = *At(name).ring;
  const absl::string_view entry = ring.EntryOf(ring.received()).bytes();
  const_cast<char&>(entry[entry.size() / 2]) ^= 4;
}

void TranscriptNetwork::Diverge(const std::string& name) {
  At(name).heap->diverges = true;
}

void TranscriptNetwork::LackProcedure(const std::string& name) {
  At(name).heap->lacks_procedure = true;
}

void TranscriptNetwork::Flip(const std::string& name,
                             const std::string& write) {
  At(name).heap->objects[write[0]] = write.substr(2);
}

void TranscriptNetwork::Falter(const std::string& name, size_t writes) {
  At(name).heap->falters_after = writes;
}

void TranscriptNetwork::DamageNext(const std::string& name) {
  At(name).heap->damages_next_chunk = true;
}

// --- Inputs.

void TranscriptNetwork::Give(const std::string& name, const Input& input) {
  Node& node = At(name);
  if (node.core == nullptr) return;
  Actions actions;
  input(*node.core, &actions);
  if (!node.executor->torn()) node.core->EndOfBatch(now_, &actions);
  if (node.executor->torn()) {
    print_(absl::StrCat(name, " loses its power"), false);
    return Stop(&node);
  }
  const std::string standing = StandingOf(node);
  if (standing != node.standing) {
    print_(absl::StrCat(name, ": ", node.standing, " -> ", standing), false);
    node.standing = standing;
  }
  CarryOut(name, std::move(actions));
}

void TranscriptNetwork::CarryOut(const std::string& name, Actions actions) {
  if (actions.fetch_view) print_(name + " fetches the view", false);
  if (actions.completed != 0) {
    print_(absl::StrCat(name, " completes ", actions.completed), false);
  }
  for (LinkId link : actions.close) BreakEnd({name, link});
  for (const Actions::Open& open : actions.open) Connect(name, open);
  for (Actions::Send& send : actions.send) {
    const auto peer = peers_.find({name, send.link});
    if (peer == peers_.end()) continue;
    flights_.push_back({{name, send.link},
                        peer->second,
                        std::move(send.message),
                        std::string(send.payload)});
  }
  if (!actions.fatal.ok()) {
    print_(absl::StrCat(name, " stops: ", actions.fatal.message()), false);
    Stop(&At(name));
  }
}

void TranscriptNetwork::Connect(const std::string& name,
                                const Actions::Open& open) {
  const std::string& to = open.member.node_id;
  if (!IsUp(to) || cut_.count(std::minmax(name, to)) > 0) {
    return Give(name, [&](ChainCore& core, Actions* actions) {
      core.OnLinkClosed(open.link, now_, actions);
    });
  }
  const LinkId accepted = At(to).next_accepted;
  At(to).next_accepted += 2;
  peers_[{name, open.link}] = {to, accepted};
  peers_[{to, accepted}] = {name, open.link};
  Give(name, [&](ChainCore& core, Actions* actions) {
    core.OnLinkOpened(open.link, now_, actions);
  });
}

void TranscriptNetwork::BreakEnd(const End& end) {
  const auto found = peers_.find(end);
  if (found == peers_.end()) return;
  const End other = found->second;
  peers_.erase(end);
  peers_.erase(other);
  std::erase_if(flights_, [&](const Flight& flight) {
    return flight.to == end || flight.to == other;
  });
  for (const End& side : {end, other}) {
    Give(side.first, [&](ChainCore& core, Actions* actions) {
      core.OnLinkClosed(side.second, now_, actions);
    });
  }
}

void TranscriptNetwork::InstallView(uint64_t id,
                                    const std::vector<std::string>& members,
                                    const std::vector<std::string>& to) {
  View view{"c", id, {}};
  for (const std::string& name : members) {
    Member member;
    member.node_id = name;
    member.incarnation = At(name).incarnation;
    view.members.push_back(member);
  }
  const auto same = [](const Member& a, const Member& b) {
    return a.node_id == b.node_id;
  };
  const auto told = views_.find(id);
  if (told != views_.end() &&
      std::equal(view.members.begin(), view.members.end(),
                 told->second.members.begin(), told->second.members.end(),
                 same)) {
    view = told->second;
  }
  views_[id] = view;
  for (const std::string& name : to) {
    Give(name, [&](ChainCore& core, Actions* actions) {
      core.OnView(view, now_, actions);
    });
  }
}

void TranscriptNetwork::Submit(const std::string& head,
                               const std::string& operation, bool commit) {
  Node& node = At(head);
  if (!node.core->place().is_head() || !node.core->soundness().ready()) {
    return print_(head + " does not lead", false);
  }
  const FakeHeap::Objects before = node.heap->objects;
  const uint64_t number = node.core->next_sequence();
  const TextBatch batch(operation);
  absl::Status appended =
      node.core->AppendLocal(batch.mutations(), batch.write_set());
  if (!appended.ok()) {
    return print_(absl::StrCat(head, " cannot take it: ",
                               absl::StatusCodeToString(appended.code())),
                  false);
  }
  (void)node.heap->Execute(node.ring->EntryOf(number));
  if (!commit) {
    node.uncommitted = before;
    return;
  }
  Give(head,
       [&](ChainCore& core, Actions* actions) { core.CommitLocal(actions); });
}

void TranscriptNetwork::Invite(const std::string& name, bool invited) {
  Give(name, [&](ChainCore& core, Actions* actions) {
    core.OnInvited(invited, now_, actions);
  });
}

void TranscriptNetwork::Tick(absl::Duration time) {
  now_ += time;
  for (const std::string& name : Names()) {
    Give(name, [&](ChainCore& core, Actions* actions) {
      core.OnTick(now_, actions);
    });
  }
}

// --- Messages in flight.

bool TranscriptNetwork::DeliverOne(const std::string& from,
                                   const std::string& to, bool lost) {
  const auto next =
      std::find_if(flights_.begin(), flights_.end(), [&](const Flight& flight) {
        return (from.empty() || flight.from.first == from) &&
               (to.empty() || flight.to.first == to);
      });
  if (next == flights_.end()) return false;
  const Flight flight = std::move(*next);
  flights_.erase(next);
  print_(absl::StrCat(flight.from.first, " -> ", flight.to.first,
                      lost ? " (lost)" : "", ": ",
                      Describe(flight.message, flight.payload)),
         true);
  if (lost) return true;
  Give(flight.to.first, [&](ChainCore& core, Actions* actions) {
    core.OnMessage(flight.to.second, flight.message, flight.payload, now_,
                   actions);
  });
  return true;
}

size_t TranscriptNetwork::CountOnTheWay(const std::string& from,
                                        const std::string& to) const {
  return std::count_if(flights_.begin(), flights_.end(),
                       [&](const Flight& flight) {
                         return (from.empty() || flight.from.first == from) &&
                                (to.empty() || flight.to.first == to);
                       });
}

void TranscriptNetwork::Forge(const std::string& from, const std::string& to,
                              Message message, std::string payload) {
  message.set_chain_id(1);
  for (const auto& [end, peer] : peers_) {
    if (end.first != from || peer.first != to) continue;
    flights_.push_front({end, peer, std::move(message), std::move(payload)});
    return;
  }
  print_(absl::StrCat("there is no link from ", from, " to ", to), false);
}

void TranscriptNetwork::Break(const std::string& a, const std::string& b) {
  std::vector<End> ends;
  for (const auto& [end, peer] : peers_) {
    if (end.first == a && peer.first == b) ends.push_back(end);
  }
  for (const End& end : ends) BreakEnd(end);
}

void TranscriptNetwork::Cut(const std::string& a, const std::string& b,
                            bool cut) {
  if (!cut) {
    cut_.erase(std::minmax(a, b));
    return;
  }
  cut_.insert(std::minmax(a, b));
  Break(a, b);
}

// --- The nodes' state.

std::string TranscriptNetwork::StandingOf(const Node& node) const {
  return absl::StrCat(
      membership::RoleName(node.core->place().role()), ", ",
      membership::ConditionName(node.core->soundness().condition()),
      node.core->links().joiner.keeps_up() ? ", keeps up" : "",
      node.core->soundness().no_damage_suspected() ? "" : ", damage suspected");
}

std::string TranscriptNetwork::TextOf(const std::string& name) const {
  const Node& node = At(name);
  if (node.core == nullptr) return name + " is down";
  const LogRing& ring = node.core->ring();
  return absl::StrCat(
      name, " ", StandingOf(node), ": received ", ring.received(), ", applied ",
      ring.applied(), ", cleaned ", ring.cleaned(),
      node.core->soundness().disputed() == 0
          ? ""
          : absl::StrCat(", disputes ", node.core->soundness().disputed()),
      "; ", node.heap->Text());
}

std::vector<std::string> TranscriptNetwork::LinksOf(
    const std::string& name) const {
  std::vector<std::string> lines;
  for (const LinkTable::LinkState& link : At(name).core->link_table().All()) {
    lines.push_back(absl::StrCat(Word(link.role), " ", link.peer,
                                 link.connected ? "" : ", not connected"));
  }
  return lines;
}

}  // namespace kamino::replica
