// The flags of kamino_node, checked.
#ifndef KAMINO_NODE_NODE_FLAGS_H_
#define KAMINO_NODE_NODE_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/pmem/delay_region.h"
#include "engine/pmem/file_region.h"
#include "node/storage/storage.h"
#include "transport/verbs/choose_port.h"

namespace kamino::node {

struct NodeFlags {
  StorageOptions storage;  // cluster and node id among them
  std::string data_dir;
  std::string device;  // empty: files in data_dir
  bool format_device = false;
  engine::PmemMode pmem = engine::PmemMode::kAuto;
  engine::PmemDelays pmem_delays;  // added to the medium's own
  bool prefault = true;
  std::string listen;
  std::string advertise;
  std::string peer_listen;  // "": as --peer_listen says
  std::string link_listen;
  std::string link_advertise;
  std::string session_listen;
  std::string web_listen;          // empty: none
  std::string transport;           // tcp, shm, verbs or auto
  absl::Duration link_spin;        // how long links poll before they sleep
  transport::PortWish verbs;       // of its links
  uint64_t transfer_mb_per_s = 0;  // 0: without a limit
  absl::Duration keep_changes;
  uint64_t snapshot_mb = 0;     // for before-images
  uint64_t scrub_mb_per_s = 0;  // 0: no scrub
  absl::Duration scrub_min_pass;
  absl::Duration slow_operation;  // zero: none is logged
  std::vector<std::string> managers;
};

// kInvalidArgument: one line that names the flag and its valid values.
absl::StatusOr<NodeFlags> ReadNodeFlags();

// The sockets at which this node accepts shared-memory links of clients'
// sessions and of its neighbours.
std::string SessionSocket(const NodeFlags& flags);
std::string LinkSocket(const NodeFlags& flags);
// Why this node has no such sockets: --data_dir is too long for a socket's
// name. "": it has them.
std::string WhyNoSharedMemory(const NodeFlags& flags);

// NodeFlags::slow_operation, which may change while the node runs.
absl::StatusOr<absl::Duration> ReadSlowOperation();

}  // namespace kamino::node

#endif  // KAMINO_NODE_NODE_FLAGS_H_
