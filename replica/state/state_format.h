// Layout of the heap's root object as the chain uses it; docs/formats/state.md.
// On media: never change it without a new magic.
#ifndef KAMINO_REPLICA_STATE_STATE_FORMAT_H_
#define KAMINO_REPLICA_STATE_STATE_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace kamino::replica::state_format {

inline constexpr uint64_t kStateVersion = 4;
inline constexpr uint64_t kStateMagic = 0x34657461746b4bull;  // "Kktate4"

struct StateRoot {
  uint64_t magic;          // 0 until the chain's first mutation
  uint64_t objects_root;   // node id of the tree: key -> object
  uint64_t clients_root;   // node id of the tree: client id -> StoredOutcome
  uint64_t horizon;        // object id of the EvictionHorizon
  uint64_t refused;        // object id of the RefusedRequests
  uint64_t sessions_root;  // node id of the tree: session id -> SessionRecord
  // All zeros, like the rest of the object, if there was never a restore.
  uint64_t restoring;     // 1: the objects are not all there yet; else 0
  uint8_t backup_id[16];  // the backup that is, or was, restored
};
// Bytes of it that the chain's first mutation stores.
inline constexpr size_t kFormattedBytes = 48;

// An object of its own, so that mutations of known clients do not depend on
// dropped outcomes.
struct EvictionHorizon {
  uint64_t sequence;  // the highest of any outcome that was dropped; 0: none
};

// Requests on which heads crashed. A new one takes a free slot, or the oldest.
struct RefusedSlot {
  uint64_t client_id;
  uint64_t number;
  uint64_t digest;    // of its bytes (replica/log/request_identity.h)
  uint64_t sequence;  // of the mutation that recorded it; 0: the slot is free
  uint64_t pardoned;  // 1: other requests of these bytes are not quarantined
};
inline constexpr size_t kRefusedSlots = 64;
struct RefusedRequests {
  RefusedSlot slots[kRefusedSlots];
};

static_assert(sizeof(StateRoot) == 72);
static_assert(offsetof(StateRoot, objects_root) == 8);
static_assert(offsetof(StateRoot, clients_root) == 16);
static_assert(offsetof(StateRoot, horizon) == 24);
static_assert(offsetof(StateRoot, refused) == 32);
static_assert(offsetof(StateRoot, sessions_root) == 40);
static_assert(offsetof(StateRoot, restoring) == kFormattedBytes);
static_assert(offsetof(StateRoot, backup_id) == 56);
static_assert(sizeof(EvictionHorizon) == 8);
static_assert(sizeof(RefusedSlot) == 40);
static_assert(offsetof(RefusedSlot, pardoned) == 32);
static_assert(sizeof(RefusedRequests) == 2560);

// Key in the client tree: the client id, big-endian.
inline constexpr size_t kClientKeyBytes = 8;

// Room in a client's record, so that most outcomes are written in place.
inline constexpr size_t kOutcomeCapacity = 96;

}  // namespace kamino::replica::state_format

#endif  // KAMINO_REPLICA_STATE_STATE_FORMAT_H_
