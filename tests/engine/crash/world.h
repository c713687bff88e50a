// The workload's data in a heap, and which of it must be there after a crash.
//
// The root object holds ids: of the B+tree, then of directories, which hold the
// ids of plain objects. Nothing else is allocated.
#ifndef KAMINO_TESTS_ENGINE_CRASH_WORLD_H_
#define KAMINO_TESTS_ENGINE_CRASH_WORLD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/transaction.h"
#include "tests/engine/crash/rig.h"

namespace kamino::engine::crash {

inline constexpr uint32_t kDirectories = 3;
inline constexpr uint32_t kSlots = 16;  // of a directory
inline constexpr uint32_t kDirectoryBytes = kSlots * sizeof(ObjectId);

// The state after some committed transactions.
struct World {
  // Every live object's whole payload.
  std::map<ObjectId, std::shared_ptr<const std::string>> objects;
  std::map<std::string, std::string> tree;
};

using WorldPointer = std::shared_ptr<const World>;

// A transaction's change of a state.
struct Change {
  // New payloads; null: freed.
  std::map<ObjectId, std::shared_ptr<const std::string>> objects;
  std::map<std::string, std::optional<std::string>> tree;  // nothing: deleted
};
void Apply(const Change& change, World* world);

// The id at `index` of an object that holds ids.
absl::StatusOr<ObjectId> ReadId(Reader& reader, ObjectId id, uint32_t index);

// Makes the tree and the directories in a new store, by a commit of this
// sequence.
inline constexpr uint64_t kWorldSequence = 1;
absl::StatusOr<World> MakeWorld(Rig& rig);

// Not OK: the first difference. Compares objects byte by byte; that the heap
// has no more objects shows that none leaked. Objects of `lost` must exist, and
// reading them must be kDataLoss.
absl::Status CheckObjects(Rig& rig, const World& world,
                          const std::set<ObjectId>& lost = {});

// The assumptions of CheckObjects: the tree finds and lists the entries of
// `world` and no others, and all objects are reachable from the root.
absl::Status CheckStructure(Rig& rig, const World& world);

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_WORLD_H_
