// Reports of nodes to the manager, and the contents of its store.
#include <string>
#include <vector>

#include "glog/logging.h"
#include "membership/manager/manager_core.h"
#include "membership/records.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace kamino::fuzz {
namespace {

using kamino::internal::v1::ViewRecord;
using kamino::v1::Member;
using membership::ManagerCore;
using membership::View;

constexpr char kClusterId[] = "fuzz";

class FuzzedManager {
 public:
  FuzzedManager() : core_(Options()) {
    core_.ExtendLeadership(absl::InfiniteFuture());
    core_.BecomeLeader({kClusterId, 0, {}}, absl::ZeroDuration(), now_);
  }

  void Step(Input& input) {
    const uint64_t kind = input.Number(1);
    const absl::string_view bytes = input.Bytes(input.Number(2));
    now_ += absl::Milliseconds(kind >> 4);
    switch (kind % 6) {
      case 0:
        return Register(bytes, input.Number(1));
      case 1:
      case 2:
        return Beat(bytes, input);
      case 3:
        now_ += absl::Milliseconds(400);
        break;
      case 4:
        return BecomeLeader(bytes);
      default:
        break;
    }
    Propose();
  }

 private:
  static membership::ManagerOptions Options() {
    membership::ManagerOptions options;
    options.cluster_id = kClusterId;
    options.chain_length = 3;
    options.max_nodes = 8;
    return options;
  }

  void Register(absl::string_view bytes, uint64_t condition) {
    Member node;
    if (!node.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return;
    }
    core_
        .Register(kClusterId, membership::FromProto(node),
                  {.condition = membership::FromProto(
                       static_cast<kamino::v1::Condition>(condition))},
                  now_)
        .IgnoreError();
    CHECK_LE(core_.nodes(now_).size(), core_.options().max_nodes);
    Propose();
  }

  void Beat(absl::string_view node_id, Input& input) {
    ManagerCore::Beat beat;
    beat.node_id = std::string(node_id);
    beat.incarnation = input.Number(1);
    beat.report.view_id = input.Number(1) % (core_.view().id + 2);
    beat.report.caught_up_view = input.Number(1);
    beat.report.condition = membership::FromProto(
        static_cast<kamino::v1::Condition>(input.Number(1)));
    core_.Heartbeat(kClusterId, beat, now_).IgnoreError();
    core_.ShouldJoin(beat.node_id, now_);
    core_.registry().WaitingFor(now_);
    Propose();
  }

  // Another manager's record.
  void BecomeLeader(absl::string_view bytes) {
    ViewRecord record;
    if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return;
    }
    const View view = membership::FromProto(record);
    // The store keeps them apart: a view without members is none.
    if (view.id == 0 || view.members.empty()) return;
    core_.LoseLeadership();
    core_.BecomeLeader(view, core_.options().lease(), now_);
  }

  void Propose() {
    if (!core_.watch().WhyBehind().empty()) {
      core_.recoveries().Recover(/*force=*/true, now_).status().IgnoreError();
    }
    const auto view = core_.ProposeView(now_);
    if (!view.has_value()) return;
    CHECK_EQ(view->id, core_.view().id + 1);
    CHECK(!view->members.empty());
    for (const auto& member : view->members) CHECK(!member.node_id.empty());
    CHECK(membership::FromProto(membership::ToProto(*view)) == *view);
    core_.OnViewStored(*view);
  }

  ManagerCore core_;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
};

void Run(absl::string_view bytes) {
  Input input(bytes);
  FuzzedManager manager;
  for (int steps = 0; !input.empty() && steps < 500; ++steps) {
    manager.Step(input);
  }
}

Member Node(int i, uint64_t incarnation) {
  Member node;
  node.set_node_id("n" + std::to_string(i));
  node.set_address("host:1");
  auto* instance = node.mutable_instance();
  instance->set_incarnation(incarnation);
  (*instance->mutable_link_addresses())["tcp"] = "host:2";
  instance->set_heap_bytes(1 << 20);
  instance->set_heap_id(std::string(16, static_cast<char>('a' + i)));
  return node;
}

void AppendStep(uint8_t kind, const std::string& payload, std::string* bytes) {
  AppendNumber(kind, 1, bytes);
  AppendNumber(payload.size(), 2, bytes);
  *bytes += payload;
}

void AppendRegister(int i, uint64_t incarnation, std::string* bytes) {
  AppendStep(0, Node(i, incarnation).SerializeAsString(), bytes);
  AppendNumber(1, 1, bytes);
}

void AppendBeat(int i, uint64_t incarnation, uint64_t view,
                std::string* bytes) {
  AppendStep(1, "n" + std::to_string(i), bytes);
  for (const uint64_t number : {incarnation, view, uint64_t{0}, uint64_t{2}}) {
    AppendNumber(number, 1, bytes);
  }
}

std::vector<std::string> Seeds() {
  std::string life;
  for (int i = 1; i <= 4; ++i) AppendRegister(i, 1, &life);
  for (int round = 0; round < 6; ++round) {
    for (int i = 1; i <= 4; ++i) {
      if (i != 2 || round < 2) AppendBeat(i, 1, 1, &life);
    }
    AppendStep(3, "", &life);
  }
  AppendRegister(2, 2, &life);
  AppendBeat(2, 2, 2, &life);
  ViewRecord record;
  record.set_cluster_id(kClusterId);
  record.set_view_id(9);
  for (int i = 1; i <= 3; ++i) *record.add_members() = Node(i, 1);
  std::string takeover;
  AppendStep(4, record.SerializeAsString(), &takeover);
  return {life, takeover + life};
}

}  // namespace

Target ManagerTarget() { return {"manager", Run, Seeds, MutateBytes}; }

}  // namespace kamino::fuzz
