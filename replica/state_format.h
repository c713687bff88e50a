// Layout of the heap's root object as the chain uses it; docs/state_format.md.
// On media: never change it without a new magic.
#ifndef KAMINO_REPLICA_STATE_FORMAT_H_
#define KAMINO_REPLICA_STATE_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace kamino::replica::state_format {

inline constexpr uint64_t kStateMagic = 0x32657461746b4bull;  // "Kktate2"

struct StateRoot {
  uint64_t magic;         // 0 until the chain's first mutation
  uint64_t objects_root;  // node id of the tree: key -> object
  uint64_t clients_root;  // node id of the tree: client id -> StoredOutcome
  uint64_t horizon;       // object id of the EvictionHorizon
};

// An object of its own, so that dropping outcomes is nothing that mutations of
// known clients depend on.
struct EvictionHorizon {
  uint64_t sequence;  // the highest of any outcome that was dropped; 0: none
};

static_assert(sizeof(StateRoot) == 32);
static_assert(offsetof(StateRoot, objects_root) == 8);
static_assert(offsetof(StateRoot, clients_root) == 16);
static_assert(offsetof(StateRoot, horizon) == 24);
static_assert(sizeof(EvictionHorizon) == 8);

// Key in the client tree: the client id, big-endian.
inline constexpr size_t kClientKeyBytes = 8;

// Room kept in a client's record, so that most outcomes are written in place.
inline constexpr size_t kOutcomeCapacity = 96;

}  // namespace kamino::replica::state_format

#endif  // KAMINO_REPLICA_STATE_FORMAT_H_
