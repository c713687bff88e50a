// Contents of the chunks of a snapshot between two nodes.
#ifndef KAMINO_TESTS_NODE_DRIVER_SNAPSHOT_CHUNK_H_
#define KAMINO_TESTS_NODE_DRIVER_SNAPSHOT_CHUNK_H_

#include <cstring>
#include <string>

#include "kamino/internal/v1/chain.pb.h"
#include "replica/state/snapshot_format.h"

namespace kamino::node {

// Where its record is: the first chunk has the header in front.
inline size_t RecordAt(const std::string& chunk) {
  using replica::snapshot_format::Header;
  using replica::snapshot_format::kMagic;
  uint64_t magic;
  std::memcpy(&magic, chunk.data(), sizeof(magic));
  return magic == kMagic ? sizeof(Header) : 0;
}

inline replica::snapshot_format::Record RecordOf(const std::string& chunk) {
  replica::snapshot_format::Record record;
  std::memcpy(&record, chunk.data() + RecordAt(chunk), sizeof(record));
  return record;
}

inline void Replace(const replica::snapshot_format::Record& record,
                    std::string* chunk) {
  std::memcpy(chunk->data() + RecordAt(*chunk), &record, sizeof(record));
}

inline bool EndsSnapshot(const kamino::internal::v1::ChainMessage& message) {
  return message.has_state_chunk() &&
         RecordOf(message.state_chunk().snapshot()).kind ==
             replica::snapshot_format::Kind::kEnd;
}

}  // namespace kamino::node

#endif  // KAMINO_TESTS_NODE_DRIVER_SNAPSHOT_CHUNK_H_
