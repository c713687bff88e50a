#include "tests/simulation/final_state.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/heap/heap_reader.h"
#include "engine/index/key_value.h"
#include "engine/kamino/range_walk.h"
#include "replica/state/state_machine.h"

namespace kamino::simulation {
namespace {

using membership::View;

std::vector<SimNode*> Members(Cluster* cluster) {
  std::vector<SimNode*> members;
  for (const auto& member : cluster->StoredView().members) {
    members.push_back(cluster->node(member.node_id));
  }
  return members;
}

absl::Status Left(const SimNode& node, const std::string& what) {
  return absl::InternalError(absl::StrCat("at rest, ", node.name(), " ", what));
}

absl::Status CheckRing(const SimNode& node, const replica::LogRing& ring,
                       uint64_t size) {
  if (ring.received() == size && ring.applied() == size &&
      ring.cleaned() == size && ring.space().used() == 0) {
    return absl::OkStatus();
  }
  return Left(node, absl::StrCat("has received ", ring.received(), ", applied ",
                                 ring.applied(), ", cleaned ", ring.cleaned(),
                                 " of ", size, "; ", ring.space().used(),
                                 " bytes in its ring"));
}

absl::Status CheckHead(SimNode& node) {
  const auto admission = node.node()->head().admission_stats();
  const auto store = node.node()->head().store_stats();
  if (!admission.has_value() || !store.has_value()) {
    return Left(node, "is the head and does not act as one");
  }
  if (admission->in_flight != 0 || admission->parked != 0) {
    return Left(node, absl::StrCat("has ", admission->in_flight,
                                   " operations in flight, ", admission->parked,
                                   " parked"));
  }
  if (store->unpropagated != 0 || store->held != 0 ||
      store->locked_objects != 0) {
    return Left(
        node, absl::StrCat("has ", store->unpropagated,
                           " transactions for the backup, holds ", store->held,
                           ", ", store->locked_objects, " objects locked"));
  }
  return absl::OkStatus();
}

struct Contents {
  std::map<std::string, Model::Object> objects;
  std::map<uint64_t, Model::Client> clients;
  // Without their slots' outcomes.
  std::map<uint64_t, Model::Session> sessions;
  uint64_t horizon = 0;
};

// Each slot that was used has the expected outcome.
absl::Status CheckSlots(engine::Reader& reader, replica::StateMachine& state,
                        const std::map<uint64_t, Model::Session>& sessions) {
  for (const auto& [id, session] : sessions) {
    for (const Model::Slot& slot : session.slots) {
      if (slot.number == 0) continue;
      const auto place = state.FindPlace(reader, id, slot.number);
      if (!place.ok()) return place.status();
      if (place->taken.has_value() && place->taken->sequence == slot.sequence &&
          place->taken->result == slot.result &&
          place->taken->voided == slot.voided) {
        continue;
      }
      return absl::DataLossError(
          absl::StrCat("number ", slot.number, " of session ", id, " differs"));
    }
  }
  return absl::OkStatus();
}

// Compares outcomes of sessions with `model`, if there is one.
absl::StatusOr<Contents> ReadAll(SimNode* node, const Model* model = nullptr) {
  engine::Heap* const heap = node->storage()->heap();
  static const replica::ProcedureRegistry* const none =
      new replica::ProcedureRegistry();
  replica::StateMachine state(none, heap->root());
  engine::HeapReader reader(heap);
  auto objects = state.Objects(reader);
  if (!objects.ok()) return objects.status();
  Contents contents;
  absl::Status status =
      objects->Scan("", "", 0, [&](absl::string_view key, const auto& entry) {
        contents.objects[std::string(key)] = {std::string(entry.value),
                                              entry.version};
        return true;
      });
  if (!status.ok()) return status;
  status = state.VisitClients(reader, [&](uint64_t id, const auto& outcome) {
    contents.clients[id] = {outcome.number(), outcome.sequence(),
                            outcome.result()};
    return true;
  });
  if (!status.ok()) return status;
  status = state.VisitSessions(reader,
                               [&](const replica::Sessions::Session& session) {
                                 contents.sessions[session.id] = {
                                     session.epoch, session.opened,
                                     std::vector<Model::Slot>(session.window)};
                               });
  if (!status.ok()) return status;
  if (model != nullptr) {
    status = CheckSlots(reader, state, model->sessions());
    if (!status.ok()) return status;
  }
  auto horizon = state.EvictionHorizon(reader);
  if (!horizon.ok()) return horizon.status();
  contents.horizon = *horizon;
  return contents;
}

template <typename Key, typename Value>
std::string FirstDifference(const std::map<Key, Value>& is,
                            const std::map<Key, Value>& should) {
  for (const auto& [key, value] : should) {
    const auto found = is.find(key);
    if (found == is.end()) return absl::StrCat(key, " is missing");
    if (!(found->second == value)) return absl::StrCat(key, " differs");
  }
  for (const auto& [key, value] : is) {
    if (should.count(key) == 0) return absl::StrCat(key, " is too many");
  }
  return "";
}

}  // namespace

absl::Status CheckAtRest(Cluster* cluster) {
  const View view = cluster->StoredView();
  if (!view.formed()) return absl::InternalError("no view was ever stored");
  for (const membership::Member& member : view.members) {
    SimNode* const node = cluster->node(member.node_id);
    if (!node->up() || node->incarnation() != member.incarnation) {
      return Left(*node, absl::StrCat("is not up, but in ", view.ToString()));
    }
    if (node->node()->core().view().id != view.id) {
      return Left(*node,
                  absl::StrCat("is in view ", node->node()->core().view().id,
                               ", not in ", view.ToString()));
    }
    if (!node->node()->core().soundness().no_damage_suspected()) {
      return Left(*node, "does not know whether it holds what was written");
    }
    absl::Status status =
        CheckRing(*node, node->node()->core().ring(), cluster->log().size());
    if (status.ok() && node->node()->core().place().is_head()) {
      status = CheckHead(*node);
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckHeaps(Cluster* cluster, const Model& model,
                        const std::vector<std::string>& except) {
  std::optional<engine::HeapStats> first;
  std::map<std::string, Model::Object> objects = model.objects();
  std::map<uint64_t, Model::Session> sessions = model.sessions();
  for (auto& [id, session] : sessions) {
    session.slots.assign(session.slots.size(), {});
  }
  for (SimNode* node : Members(cluster)) {
    auto contents = ReadAll(node, &model);
    if (!contents.ok()) {
      return Left(*node, absl::StrCat("cannot be read: ",
                                      contents.status().ToString()));
    }
    if (!first.has_value()) {
      for (const std::string& key : except) {
        if (contents->objects.count(key) > 0) {
          objects[key] = contents->objects.at(key);
        }
      }
    }
    std::string wrong = FirstDifference(contents->objects, objects);
    if (wrong.empty()) {
      wrong = FirstDifference(contents->clients, model.clients());
    }
    if (wrong.empty()) wrong = FirstDifference(contents->sessions, sessions);
    if (wrong.empty() && contents->horizon != model.horizon()) {
      wrong = absl::StrCat("outcomes dropped up to ", contents->horizon,
                           ", not ", model.horizon());
    }
    if (!wrong.empty()) {
      return Left(*node, absl::StrCat("holds something else: ", wrong));
    }
    const engine::HeapStats stats = node->storage()->heap()->stats();
    if (!first.has_value()) first = stats;
    if (stats.bytes_used != first->bytes_used ||
        stats.objects != first->objects) {
      return Left(*node,
                  absl::StrCat("has ", stats.objects, " objects of ",
                               stats.bytes_used, " bytes, the head ",
                               first->objects, " of ", first->bytes_used));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckBytes(Cluster* cluster) {
  std::optional<uint64_t> first;
  for (SimNode* node : Members(cluster)) {
    engine::Heap* const heap = node->storage()->heap();
    engine::RangeWalk walk(heap, heap->region()->size());  // one range
    walk.Reach(0, 1);
    const uint64_t digest = walk.Digest(0);
    if (!first.has_value()) first = digest;
    if (digest != *first) {
      return Left(*node, "has other bytes in its objects than the head");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAlike(Cluster* cluster) {
  std::optional<Contents> first;
  for (SimNode* node : Members(cluster)) {
    auto contents = ReadAll(node);
    if (!contents.ok()) return contents.status();
    if (!first.has_value()) first = *contents;
    std::string wrong = FirstDifference(contents->objects, first->objects);
    if (wrong.empty()) {
      wrong = FirstDifference(contents->clients, first->clients);
    }
    if (wrong.empty()) {
      wrong = FirstDifference(contents->sessions, first->sessions);
    }
    if (!wrong.empty()) return Left(*node, absl::StrCat("differs: ", wrong));
  }
  return absl::OkStatus();
}

std::map<std::string, std::string> ReadFinal(
    Cluster* cluster, const std::vector<std::string>& keys) {
  std::map<std::string, std::string> values;
  auto contents = ReadAll(Members(cluster).back());
  if (!contents.ok()) return values;
  for (const std::string& key : keys) {
    const auto found = contents->objects.find(key);
    if (found != contents->objects.end()) values[key] = found->second.value;
  }
  return values;
}

}  // namespace kamino::simulation
