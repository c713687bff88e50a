#include "tests/simulation/damage.h"

#include <string>

#include "kamino/internal/v1/chain.pb.h"

namespace kamino::simulation {
namespace {

using kamino::internal::v1::ChainMessage;

void Damage(kamino::internal::v1::StateChunk* chunk, Random& random) {
  const uint64_t bit = random.Next();
  const uint64_t field = random.Pick(8);
  if (field == 0) {
    chunk->set_offset(chunk->offset() ^ 1ull << bit % 20);
  } else if (field == 1) {
    chunk->set_checksum(chunk->checksum() ^ 1ull << bit % 64);
  } else if (chunk->data().empty()) {
    chunk->set_zeros(chunk->zeros() ^ 1ull << bit % 20);
  } else {
    std::string* const data = chunk->mutable_data();
    for (uint64_t bits = 1 + random.Pick(64); bits > 0; --bits) {
      const uint64_t flipped = random.Pick(data->size() * 8);
      (*data)[flipped / 8] ^= static_cast<char>(1 << flipped % 8);
    }
  }
}

}  // namespace

TimedNetwork::Filter DamagesChunks(World* world, uint64_t one_in) {
  return [world, one_in, random = world->random().Fork()](
             const TimedNetwork::Passing& passing) mutable {
    ChainMessage message;
    if (!message.ParseFromString(*passing.bytes) ||
        !message.has_state_chunk() || !random.OneIn(one_in)) {
      return true;
    }
    world->trace().Line(world->now(), passing.from,
                        "sends a chunk that is damaged on its way");
    Damage(message.mutable_state_chunk(), random);
    *passing.bytes = message.SerializeAsString();
    return true;
  };
}

}  // namespace kamino::simulation
