// Reads of the public API over the objects of one moment. Pure: a message and a
// reader in, a message out; does not fill the header.
#ifndef KAMINO_NODE_READS_H_
#define KAMINO_NODE_READS_H_

#include <string>

#include "absl/status/status.h"
#include "engine/index/key_value.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::node {

// Values of one answer, together; below gRPC's default message limit of 4 MiB.
inline constexpr size_t kMaxAnswerBytes = 3u << 20;
inline constexpr int kMaxBatchKeys = 1000;

absl::Status ReadOne(engine::KeyValueReader& objects,
                     const kamino::v1::GetRequest& request,
                     kamino::v1::GetResponse* response);

// REASON_INVALID_ARGUMENT: more than kMaxBatchKeys.
absl::Status CheckBatch(const kamino::v1::BatchGetRequest& request);

// REASON_INVALID_ARGUMENT: a bound is longer than the least key after the
// longest one.
absl::Status CheckScan(const kamino::v1::ScanRequest& request);

// `request` has passed CheckBatch. REASON_TOO_LARGE: the values are more than
// kMaxAnswerBytes.
absl::Status ReadBatch(engine::KeyValueReader& objects,
                       const kamino::v1::BatchGetRequest& request,
                       kamino::v1::BatchGetResponse* response);

// The position of a scan between two messages of its stream.
struct ScanCursor {
  explicit ScanCursor(const kamino::v1::ScanRequest& request);

  std::string start;   // inclusive
  std::string end;     // exclusive; empty: to the last key
  uint64_t remaining;  // objects; 0: no limit
  bool keys_only;
  bool done = false;
};

// Fills the next message and moves the cursor past it.
absl::Status ReadNext(engine::KeyValueReader& objects, ScanCursor* cursor,
                      kamino::v1::ScanResponse* response);

}  // namespace kamino::node

#endif  // KAMINO_NODE_READS_H_
