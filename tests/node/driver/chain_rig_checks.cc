// Actual and expected contents of a rig's nodes.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/heap/heap_reader.h"
#include "engine/index/key_value.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {

using kamino::v1::Operation;
using membership::Member;

absl::StatusOr<ChainRig::Contents> ChainRig::ReadAll(engine::Heap* heap) {
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
    contents[absl::StrCat("client ", issued->request.client_id)] =
        absl::StrCat(issued->request.number);
  }
  return contents;
}

std::string ChainRig::CheckAtRest(const RigNode& node,
                                  uint64_t received) const {
  const std::string& name = node.name();
  if (!node.up()) {
    return absl::StrCat(name, " is down: ", node.fatal.ToString());
  }
  const ChainNode& chain_node = node.node->chain_node();
  const replica::ChainCore& core = chain_node.core();
  if (core.view().id != view_.id || !core.soundness().ready()) {
    return absl::StrCat(
        name, " is in view ", core.view().id, " and ",
        membership::ConditionName(core.soundness().condition()));
  }
  const replica::LogRing& ring = core.ring();
  if (ring.received() != received || ring.applied() != received ||
      ring.cleaned() != received || ring.space().used() != 0) {
    return absl::StrCat(name, " has received ", ring.received(), ", applied ",
                        ring.applied(), ", cleaned ", ring.cleaned(), " of ",
                        received);
  }
  if (!core.place().is_head()) return "";
  const auto admission = chain_node.head().admission_stats();
  const auto store = chain_node.head().store_stats();
  if (!admission.has_value()) return absl::StrCat(name, " is no head");
  if (admission->in_flight + admission->parked + store->unpropagated +
          store->held + store->locked_objects !=
      0) {
    return absl::StrCat(name, " has something under way");
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

}  // namespace kamino::node
