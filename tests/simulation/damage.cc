#include "tests/simulation/damage.h"

#include <algorithm>
#include <string>

#include "kamino/internal/v1/chain.pb.h"
#include "replica/chain_frame.h"
#include "replica/snapshot_format.h"

namespace kamino::simulation {
namespace {

constexpr size_t kHeadBytes = sizeof(replica::snapshot_format::Record);

void Damage(kamino::internal::v1::StateChunk* chunk, Random& random) {
  std::string* const bytes = chunk->mutable_snapshot();
  // At times it is the head of a record, which says what the others are.
  const size_t most =
      random.OneIn(4) ? std::min(bytes->size(), kHeadBytes) : bytes->size();
  for (uint64_t bits = 1 + random.Pick(64); bits > 0; --bits) {
    const uint64_t flipped = random.Pick(most * 8);
    (*bytes)[flipped / 8] ^= static_cast<char>(1 << flipped % 8);
  }
}

}  // namespace

TimedNetwork::Filter DamagesChunks(World* world, uint64_t one_in) {
  return [world, one_in, random = world->random().Fork()](
             const TimedNetwork::Passing& passing) mutable {
    auto frame = replica::DecodeFrame(*passing.bytes);
    if (!frame.ok() || !frame->message.has_state_chunk() ||
        !random.OneIn(one_in)) {
      return true;
    }
    world->trace().Line(world->now(), passing.from,
                        "sends a chunk that is damaged on its way");
    Damage(frame->message.mutable_state_chunk(), random);
    *passing.bytes = replica::EncodeFrameHead(frame->message);
    return true;
  };
}

}  // namespace kamino::simulation
