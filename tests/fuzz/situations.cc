#include "tests/fuzz/situations.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "replica/link/chain_frame.h"

namespace kamino::fuzz {
namespace {

using node::ChainRig;
using Names = std::vector<std::string>;

// A situation: the node under test, the view at that time, and whether the node
// went down in the middle of an operation.
struct Plan {
  const char* name;
  const char* node;
  Names members;
  bool torn = false;
  bool joins = false;
};

std::vector<Plan> Plans() {
  const Names all = {"n1", "n2", "n3"};
  return {{"head", "n1", all},
          {"middle", "n2", all},
          {"tail", "n3", all},
          {"single", "n2", {"n2"}},
          {"torn middle", "n2", all, true},
          {"torn head", "n2", {"n2", "n3"}, true},
          {"joining", "n4", all, false, true},
          {"tail that is joined", "n3", all, false, true}};
}

void Fill(ChainRig& rig) {
  for (int i = 0; i < 4; ++i) {
    rig.Submit(i + 1, {node::Put(absl::StrCat("key", i),
                                 std::string(200 + 900 * i, 'a' + i))});
    rig.Settle(2);
  }
}

void Load(ChainRig& rig) {
  rig.Submit(1, {node::Patch("key0", 3, "patched")});
  rig.Submit(2, {node::Put("another", std::string(150, 'x'))});
  rig.Submit(3, {node::Delete("key1")});
}

// Notes what comes to `node`, and that links were made before it came.
void Record(ChainRig& rig, const std::string& node, Script* script) {
  auto seen = std::make_shared<std::set<uint64_t>>();
  auto names = std::make_shared<std::map<uint64_t, uint8_t>>();
  rig.SetTap([=](const std::string& to, uint64_t link,
                 const ChainRig::ChainMessage& message,
                 absl::string_view payload) {
    if (to != node) return;
    Step step;
    step.link = static_cast<uint8_t>(link);
    if (link % 2 == 0) {  // accepted: numbered anew
      const auto name =
          names->emplace(link, static_cast<uint8_t>(2 * names->size() + 2));
      step.link = name.first->second;
    }
    if (seen->insert(link).second) {
      step.kind = link % 2 == 0 ? StepKind::kAccept : StepKind::kOpened;
      script->steps.push_back(step);
    }
    step.kind = StepKind::kMessage;
    step.message = replica::EncodeFrameHead(message) + std::string(payload);
    script->steps.push_back(step);
  });
}

Situation Make(const Plan& plan) {
  ChainRig::Options options;
  options.heap_bytes = 192 << 10;
  options.ring_bytes = 64 << 10;
  ChainRig rig(options);
  rig.StartAll();
  rig.InstallView({"n1", "n2", "n3"});
  rig.Settle(3);
  Fill(rig);
  const std::string node = plan.node;
  if (plan.torn) {
    rig.CutPowerAt(node, ChainRig::Moment::kDrain, 1);
    rig.Submit(1, {node::Put("key0", std::string(200, 'z'))});
    rig.Settle(3);
    CHECK(rig.tear(node).torn());
  } else {
    rig.CutPower(node, 1);
  }
  Situation situation;
  situation.name = plan.name;
  situation.snapshot = rig.TakeSnapshot(node);
  rig.Start(node);
  Record(rig, node, &situation.script);
  rig.InstallView(plan.members);
  situation.view = rig.view();
  if (plan.joins) rig.Invite("n4");
  if (node == "n4") {
    situation.script.steps.push_back({StepKind::kInvite, 1, false, ""});
  }
  Load(rig);
  rig.Settle(3);
  Load(rig);
  rig.Settle();
  return situation;
}

}  // namespace

const std::vector<Situation>& Situations() {
  static const auto* const situations = [] {
    auto* all = new std::vector<Situation>();
    for (const Plan& plan : Plans()) {
      all->push_back(Make(plan));
      all->back().script.situation = static_cast<uint8_t>(all->size() - 1);
    }
    return all;
  }();
  return *situations;
}

}  // namespace kamino::fuzz
