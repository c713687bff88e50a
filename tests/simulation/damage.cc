#include "tests/simulation/damage.h"

#include <algorithm>
#include <string>

#include "kamino/internal/v1/chain.pb.h"
#include "replica/link/chain_frame.h"
#include "replica/state/snapshot_format.h"

namespace kamino::simulation {
namespace {

constexpr size_t kHeadBytes = sizeof(replica::snapshot_format::Record);

// Flips bits behind `begin`.
void Damage(std::string* bytes, size_t begin, Random& random) {
  if (bytes->size() <= begin) return;
  // At times only in a head, which describes the rest.
  size_t most = bytes->size() - begin;
  if (random.OneIn(4)) most = std::min(most, kHeadBytes);
  for (uint64_t bits = 1 + random.Pick(64); bits > 0; --bits) {
    const uint64_t flipped = random.Pick(most * 8);
    (*bytes)[begin + flipped / 8] ^= static_cast<char>(1 << flipped % 8);
  }
}

}  // namespace

TimedNetwork::Filter DamagesMessages(World* world, uint64_t chunks_one_in,
                                     uint64_t entries_one_in) {
  return [=, random = world->random().Fork()](
             const TimedNetwork::Passing& passing) mutable {
    auto frame = replica::DecodeFrame(*passing.bytes);
    if (!frame.ok()) return true;
    if (frame->message.has_state_chunk() && chunks_one_in > 0 &&
        random.OneIn(chunks_one_in)) {
      world->trace().Line(world->now(), passing.from,
                          "sends a chunk that is damaged on its way");
      Damage(frame->message.mutable_state_chunk()->mutable_snapshot(), 0,
             random);
      *passing.bytes = replica::EncodeFrameHead(frame->message);
    }
    if (frame->message.has_append() && entries_one_in > 0 &&
        random.OneIn(entries_one_in)) {
      world->trace().Line(world->now(), passing.from,
                          "sends an entry that is damaged on its way");
      Damage(passing.bytes, passing.bytes->size() - frame->payload.size(),
             random);
    }
    return true;
  };
}

}  // namespace kamino::simulation
