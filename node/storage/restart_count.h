// How often a node's process has died one time after the other, in the node's
// record: one that dies soon after each start leaves the chain alone
// (docs/design/recovery.md, Crash loops). Ends in order, refusals and ends
// together with the machine are no deaths.
//
// Not thread-safe.
#ifndef KAMINO_NODE_STORAGE_RESTART_COUNT_H_
#define KAMINO_NODE_STORAGE_RESTART_COUNT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "replica/node_record.h"

namespace kamino::node {

class RestartCount {
 public:
  // `boot`: of the machine, another one each time; 0: not known. `limit`:
  // deaths after which a node stays down; 0: none. The record must outlive it.
  RestartCount(replica::NodeRecord* record, uint64_t boot, uint32_t limit)
      : record_(record), boot_(boot), limit_(limit) {}

  // kFailedPrecondition: the node has died too often. `node_id` and `heap`, the
  // name of its heap's region, are for the message.
  absl::Status Check(const std::string& node_id, absl::string_view heap) const;
  // The process has begun. Durable on return, as all below.
  void OnStart();
  // It has run for long: its end will count as the first.
  void Forget();
  // It is about to end because it was told to.
  void OnEndInOrder();
  // It is about to end because it is not taken in, or before it asked to be:
  // this start does not count, those before do.
  void OnRefused();

 private:
  // Counts the end of the process before this one.
  uint64_t Deaths() const;

  replica::NodeRecord* const record_;
  const uint64_t boot_;
  const uint32_t limit_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_RESTART_COUNT_H_
