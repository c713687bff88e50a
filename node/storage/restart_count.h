// Counts consecutive crashes of a node's process, in the node's record: a node
// that crashes soon after each start leaves the chain alone
// (docs/design/recovery.md, Crash loops). Planned stops, refusals and ends
// together with the machine do not count.
//
// Not thread-safe.
#ifndef KAMINO_NODE_STORAGE_RESTART_COUNT_H_
#define KAMINO_NODE_STORAGE_RESTART_COUNT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "replica/log/node_record.h"

namespace kamino::node {

class RestartCount {
 public:
  // `boot`: the machine's boot id; 0: unknown. `limit`: crashes after which a
  // node stays down; 0: none. The record must outlive it.
  RestartCount(replica::NodeRecord* record, uint64_t boot, uint32_t limit)
      : record_(record), boot_(boot), limit_(limit) {}

  // kFailedPrecondition: the node has crashed too often. `node_id` and `heap`,
  // the name of its heap's region, are for the message.
  absl::Status Check(const std::string& node_id, absl::string_view heap) const;
  // The process has begun. Durable on return, as all below.
  void OnStart();
  // It has run for long: its next crash counts as the first.
  void Forget();
  // It is about to end as planned.
  void OnEndInOrder();
  // It is about to end because it was refused, or before it registered: this
  // start does not count, earlier ones do.
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
