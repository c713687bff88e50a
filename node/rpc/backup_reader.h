// The content of one backup, read from a snapshot at the tail, step by step on
// the core thread.
#ifndef KAMINO_NODE_RPC_BACKUP_READER_H_
#define KAMINO_NODE_RPC_BACKUP_READER_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "kamino/v1/backup.pb.h"
#include "node/backup_reads.h"
#include "node/driver/node.h"
#include "proto/backup_records.h"

namespace kamino::node {

// Used by one thread, which is not the core thread: calls wait for that one.
class BackupReader {
 public:
  // Both outlive this.
  BackupReader(Node* node, const kamino::v1::SaveRequest* request)
      : node_(*node), request_(*request) {}

  // Opens the snapshot. Errors: as NodeSnapshots::Open's, or the node stops.
  absl::Status Open(kamino::v1::BackupHeader* header);
  // Reads about a MiB of records; none at the end. kCancelled: `cancelled`
  // has returned true.
  absl::Status Read(std::string* records, absl::FunctionRef<bool()> cancelled);
  // All records were read.
  bool done() const { return cursor_.done; }
  // The objects, and the bytes of their records, that were read.
  uint64_t objects() const { return cursor_.objects; }
  uint64_t bytes() const { return bytes_; }
  // Once all records were read.
  void FillTrailer(kamino::v1::BackupTrailer* trailer) const;
  // Closes the snapshot, if it is open. Does not wait.
  void Close();

  // The last mutation in the backup; 0: not known yet.
  uint64_t sequence() const { return sequence_; }

 private:
  // Runs `task` on the core thread and waits for it.
  absl::Status OnCore(absl::FunctionRef<absl::Status(ChainNode&)> task);
  void FillHeader(ChainNode& node, kamino::v1::BackupHeader* header);

  Node& node_;
  const kamino::v1::SaveRequest& request_;
  BackupCursor cursor_;
  ContentHash hash_;
  uint64_t bytes_ = 0;  // of records
  uint64_t snapshot_ = 0;
  uint64_t sequence_ = 0;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_BACKUP_READER_H_
