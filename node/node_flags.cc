#include "node/node_flags.h"

#include <sys/un.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/heap/heap.h"
#include "replica/log/log_ring.h"
#include "security/in_the_clear.h"
#include "security/tls_flags.h"
#include "server/server_program.h"
#include "web/web_flags.h"

ABSL_FLAG(std::string, cluster_id, "", "Name of the cluster (required).");
ABSL_FLAG(std::string, node_id, "",
          "Name of this node, unique in the cluster (required).");
ABSL_FLAG(std::string, data_dir, "",
          "Folder of the node's files; made when absent (required).");
ABSL_FLAG(std::string, device, "",
          "Device of persistent memory (devdax) that holds the node's data, "
          "such as /dev/dax0.0, in place of files in --data_dir.");
ABSL_FLAG(bool, format_device, false,
          "Formats --device even if it holds other data, but never a device of "
          "Kamino, damaged or not.");
ABSL_FLAG(std::string, listen, "",
          "host:port for clients, gRPC (required). Port 0 picks one.");
ABSL_FLAG(std::string, advertise, "",
          "host:port under which clients reach --listen; by default the same.");
ABSL_FLAG(
    std::string, peer_listen, "",
    "host:port for the other nodes' calls, gRPC; the host is the one that "
    "--advertise or --listen names. By default any port if there are "
    "certificates, else that of --listen.");
ABSL_FLAG(
    std::string, session_listen, "",
    "host:port on which clients' sessions come over TCP (with TLS if there "
    "are certificates), besides "
    "--listen; by default any port of --listen's host.");
ABSL_FLAG(std::string, link_listen, "127.0.0.1:0",
          "host:port for chain links over tcp. Port 0 picks one.");
ABSL_FLAG(std::string, link_advertise, "",
          "host:port under which the other nodes reach --link_listen; by "
          "default the same. Port 0: that of --link_listen.");
ABSL_FLAG(std::string, transport, "tcp",
          "Preferred transport of chain links: tcp, shm for nodes on one "
          "machine, verbs (RDMA), or auto: the best of these that both "
          "neighbours have.");
ABSL_FLAG(std::string, verbs_device, "",
          "RDMA device for chain links, such as mlx5_0; by default the first "
          "with an active port.");
ABSL_FLAG(int, verbs_port, 0, "Port of the RDMA device; 0: the first active.");
ABSL_FLAG(int, verbs_gid_index, -1,
          "Index of the GID that links use; -1: the best, which is one of RoCE "
          "v2 with an IP address.");
ABSL_FLAG(int, link_spin_us, 20,
          "How long, in microseconds, links over shm and verbs poll for the "
          "next message before they go to sleep.");
ABSL_FLAG(std::string, managers, "",
          "host:port,... of the membership managers (required).");
ABSL_FLAG(
    uint64_t, heap_mb, 256,
    "Size of the heap in MiB; the same on all nodes. It cannot change later.");
ABSL_FLAG(uint64_t, ring_mb, 64,
          "Size of the log ring in MiB; the same on all nodes.");
ABSL_FLAG(std::string, chain_mode, "kamino",
          "How the chain recovers mutations that a crash interrupts: kamino (f "
          "+ 2 nodes for f failures, an undo copy at the head only), "
          "traditional (f + 1, each with "
          "undo copies) or images (f + 1; log entries carry after-images). The "
          "same on all nodes; it cannot change later.");
ABSL_FLAG(
    std::string, undo_copy, "dynamic",
    "Kind of undo copy: simple (a copy of the whole heap), dynamic (of the "
    "objects that were written last) or log (each transaction copies the data "
    "that it overwrites; for --chain_mode=traditional only). The head rolls "
    "back transactions with it; in a traditional chain every node does, and "
    "this flag and --alpha must be the same on all nodes.");
ABSL_FLAG(double, alpha, 0.25,
          "With --undo_copy=dynamic: the size of the undo copy, as a fraction "
          "of the heap's.");
ABSL_FLAG(bool, reserve_undo_copy, true,
          "Allocates the space of the undo copy at the start. A node that "
          "becomes head, or with --chain_mode=traditional executes a mutation, "
          "then neither waits for space nor fails because space is missing.");
ABSL_FLAG(uint64_t, transfer_mb_per_s, 600,
          "Speed at which this node sends its heap to a joining node, in MB/s; "
          "0: unlimited. A slower transfer leaves more capacity to the chain's "
          "clients.");
ABSL_FLAG(
    uint32_t, keep_changes_s, 300,
    "How long, in seconds, this node remembers the changed data after a member "
    "leaves. A member that returns in time receives only these changes. 0: the "
    "node remembers nothing, and requests the whole heap when it returns "
    "itself. It should be at least the managers' --away_limit.");
ABSL_FLAG(
    uint64_t, snapshot_mb, 256,
    "Memory in MiB for the data that changes while a backup is saved from this "
    "node or another snapshot is open; a snapshot that needs more ends.");
ABSL_FLAG(uint64_t, scrub_mb_per_s, 16,
          "Speed at which the members compare their heaps (scrub) while this "
          "node is head, in MB/s of the heap, including free space; 0: they do "
          "not scrub. A pass over the whole heap takes --heap_mb divided by "
          "this speed, in seconds.");
ABSL_FLAG(uint32_t, scrub_min_pass_s, 60,
          "Least time, in seconds, from the beginning of one scrub pass to the "
          "beginning of the next; a new view begins a pass at once.");
ABSL_FLAG(uint32_t, restart_limit, 10,
          "After this number of deaths, each within ten minutes of its start, "
          "the node stays down; after two such deaths it waits before it "
          "registers. 0: it never waits and never stays down.");
ABSL_FLAG(bool, prefault, true,
          "Touches all pages of a new file in memory when the node creates it, "
          "so that the first stores do not wait for them.");
ABSL_FLAG(uint32_t, slow_operation_ms, 1000,
          "Logs each operation of a client that takes at least this number of "
          "milliseconds at this node, with the time of each stage "
          "(docs/operate/logs.md); 0: logs none. Read again at SIGHUP.");
ABSL_FLAG(std::string, pmem, "auto",
          "auto: flush cache lines on persistent memory, sync files elsewhere; "
          "force: treat the files' memory as "
          "persistent even if it is not (tmpfs).");
ABSL_FLAG(
    uint32_t, pmem_delay_drain_ns, 0,
    "For tests and benches: how much longer, in nanoseconds, each drain "
    "of the persistent memory takes, as if it were slower; 0: no longer.");
ABSL_FLAG(uint32_t, pmem_delay_line_ns, 0,
          "For tests: by how many nanoseconds each write-back of a cache line "
          "takes longer.");

namespace kamino::node {

using security::IsLoopback;
using server::BadFlag;
using server::CheckAddressFlag;
using server::CheckIdFlag;
using server::IsReachable;

namespace {

constexpr uint64_t kMaxMegabytes = 1u << 20;  // 1 TiB
constexpr uint32_t kMaxMinPassSeconds = 30 * 24 * 60 * 60;
constexpr uint32_t kMaxKeepChangesSeconds = 24 * 60 * 60;
// Limits of Linux.
constexpr size_t kMaxPath = PATH_MAX - 1;
constexpr size_t kMaxName = NAME_MAX;
constexpr size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;
constexpr int kMaxVerbsPort = 255;
constexpr int kMaxGidIndex = 255;
constexpr int kMaxSpinMicros = 1'000'000;
constexpr uint32_t kMaxPmemDelayNanos = 100'000;
constexpr uint32_t kMaxSlowMillis = 60 * 60 * 1000;

absl::Status ReadUndoCopy(StorageOptions* storage) {
  const std::string name = absl::GetFlag(FLAGS_undo_copy);
  const auto kind = UndoCopyKindFrom(name);
  if (!kind.has_value()) {
    return BadFlag("undo_copy", absl::StrCat("must be ", kUndoCopyKindNames,
                                             ", not \"", name, "\""));
  }
  if (*kind == UndoCopyKind::kLog && storage->mode != ChainMode::kTraditional) {
    return BadFlag("undo_copy",
                   absl::StrCat("log is for --chain_mode=traditional, not ",
                                ChainModeName(storage->mode)));
  }
  storage->undo_copy = *kind;
  storage->reserve_undo_copy = absl::GetFlag(FLAGS_reserve_undo_copy);
  return absl::OkStatus();
}

absl::Status ReadChainMode(StorageOptions* storage) {
  const std::string name = absl::GetFlag(FLAGS_chain_mode);
  const auto mode = ChainModeFrom(name);
  if (!mode.has_value()) {
    return BadFlag("chain_mode", absl::StrCat("must be ", kChainModeNames,
                                              ", not \"", name, "\""));
  }
  storage->mode = *mode;
  return absl::OkStatus();
}

absl::Status ReadPmemDelays(engine::PmemDelays* delays) {
  delays->drain_ns = absl::GetFlag(FLAGS_pmem_delay_drain_ns);
  delays->line_ns = absl::GetFlag(FLAGS_pmem_delay_line_ns);
  for (const auto& [flag, nanos] :
       {std::pair("pmem_delay_drain_ns", delays->drain_ns),
        std::pair("pmem_delay_line_ns", delays->line_ns)}) {
    if (nanos > kMaxPmemDelayNanos) {
      return BadFlag(flag, absl::StrCat("must be from 0 to ",
                                        kMaxPmemDelayNanos, ", not ", nanos));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckMegabytes(absl::string_view flag, uint64_t megabytes,
                            uint64_t min_bytes) {
  if (megabytes >= min_bytes >> 20 && megabytes <= kMaxMegabytes) {
    return absl::OkStatus();
  }
  return BadFlag(flag, absl::StrCat("must be from ", min_bytes >> 20, " to ",
                                    kMaxMegabytes, ", not ", megabytes));
}

absl::Status CheckDataDir(const std::string& path) {
  if (path.empty()) return BadFlag("data_dir", "is required");
  const std::filesystem::path whole = std::filesystem::absolute(path);
  const size_t bytes = whole.native().size();
  if (bytes > kMaxPath) {
    return BadFlag("data_dir",
                   absl::StrCat("is a path of ", bytes, " bytes, and may have ",
                                kMaxPath, " at most; name a shorter one"));
  }
  for (const std::filesystem::path& name : whole) {
    if (name.native().size() <= kMaxName) continue;
    return BadFlag("data_dir",
                   absl::StrCat("has a name of ", name.native().size(),
                                " bytes in it, and a name may have ", kMaxName,
                                " at most; name a shorter one"));
  }
  return absl::OkStatus();
}

absl::Status ReadStorage(NodeFlags* flags) {
  StorageOptions* const storage = &flags->storage;
  storage->cluster_id = absl::GetFlag(FLAGS_cluster_id);
  storage->node_id = absl::GetFlag(FLAGS_node_id);
  flags->data_dir = absl::GetFlag(FLAGS_data_dir);
  flags->prefault = absl::GetFlag(FLAGS_prefault);
  const uint64_t heap_mb = absl::GetFlag(FLAGS_heap_mb);
  const uint64_t ring_mb = absl::GetFlag(FLAGS_ring_mb);
  storage->alpha = absl::GetFlag(FLAGS_alpha);
  RETURN_IF_ERROR(CheckIdFlag("cluster_id", storage->cluster_id));
  RETURN_IF_ERROR(CheckIdFlag("node_id", storage->node_id));
  RETURN_IF_ERROR(CheckMegabytes("heap_mb", heap_mb, engine::Heap::kMinBytes));
  RETURN_IF_ERROR(
      CheckMegabytes("ring_mb", ring_mb, replica::LogRing::kMinBytes));
  storage->restart_limit = absl::GetFlag(FLAGS_restart_limit);
  storage->heap_bytes = heap_mb << 20;
  storage->ring_bytes = ring_mb << 20;
  RETURN_IF_ERROR(CheckDataDir(flags->data_dir));
  flags->device = absl::GetFlag(FLAGS_device);
  flags->format_device = absl::GetFlag(FLAGS_format_device);
  if (flags->format_device && flags->device.empty()) {
    return BadFlag("format_device", "requires --device");
  }
  if (!(storage->alpha > 0 && storage->alpha <= 1)) {
    return BadFlag("alpha", absl::StrCat("must be over 0 and at most 1, not ",
                                         storage->alpha));
  }
  RETURN_IF_ERROR(ReadChainMode(storage));
  RETURN_IF_ERROR(ReadUndoCopy(storage));
  const std::string pmem = absl::GetFlag(FLAGS_pmem);
  if (pmem != "auto" && pmem != "force") {
    return BadFlag("pmem",
                   absl::StrCat("must be auto or force, not \"", pmem, "\""));
  }
  flags->pmem =
      pmem == "force" ? engine::PmemMode::kForce : engine::PmemMode::kAuto;
  return ReadPmemDelays(&flags->pmem_delays);
}

absl::Status ReadTransport(NodeFlags* flags) {
  flags->transport = absl::GetFlag(FLAGS_transport);
  const std::set<std::string> known = {"tcp", "shm", "verbs", "auto"};
  if (known.count(flags->transport) == 0) {
    return BadFlag("transport",
                   absl::StrCat("must be tcp, shm, verbs or auto, not \"",
                                flags->transport, "\""));
  }
  flags->verbs.device = absl::GetFlag(FLAGS_verbs_device);
  flags->verbs.port = absl::GetFlag(FLAGS_verbs_port);
  flags->verbs.gid_index = absl::GetFlag(FLAGS_verbs_gid_index);
  if (flags->verbs.port < 0 || flags->verbs.port > kMaxVerbsPort) {
    return BadFlag("verbs_port",
                   absl::StrCat("must be from 0 to ", kMaxVerbsPort));
  }
  if (flags->verbs.gid_index < -1 || flags->verbs.gid_index > kMaxGidIndex) {
    return BadFlag("verbs_gid_index",
                   absl::StrCat("must be from -1 to ", kMaxGidIndex));
  }
  const int spin = absl::GetFlag(FLAGS_link_spin_us);
  if (spin < 0 || spin > kMaxSpinMicros) {
    return BadFlag("link_spin_us",
                   absl::StrCat("must be from 0 to ", kMaxSpinMicros));
  }
  flags->link_spin = absl::Microseconds(spin);
  const std::string why_not = WhyNoSharedMemory(*flags);
  if (flags->transport == "shm" && !why_not.empty()) {
    return BadFlag("transport", absl::StrCat("cannot be shm: ", why_not));
  }
  return absl::OkStatus();
}

// A node that clients reach over the network has neighbours on other machines.
// With shm they are on its machine.
absl::Status CheckLinksReachable(const NodeFlags& flags) {
  const bool own = flags.link_advertise.empty();
  const std::string& links = own ? flags.link_listen : flags.link_advertise;
  const char* const flag = own ? "link_listen" : "link_advertise";
  if (!IsReachable(links)) {
    return BadFlag(flag,
                   absl::StrCat("is ", links, ", which is every address; ",
                                "--link_advertise must name the host that the "
                                "other nodes connect to"));
  }
  const std::string& service =
      flags.advertise.empty() ? flags.listen : flags.advertise;
  if (flags.transport == "shm" || IsLoopback(service) || !IsLoopback(links)) {
    return absl::OkStatus();
  }
  return BadFlag(
      flag, absl::StrCat("is ", links, ", which other machines cannot ",
                         "reach, while clients reach this node at ", service,
                         "; name a host that the other nodes connect to"));
}

absl::Status CheckSecure(const NodeFlags& flags) {
  std::vector<security::Reached> reached = {
      {"listen", flags.listen},
      {"link_listen", flags.link_listen},
      {"session_listen", flags.session_listen}};
  if (!flags.peer_listen.empty()) {
    reached.emplace_back("peer_listen", flags.peer_listen);
  }
  if (!flags.web_listen.empty()) {
    reached.emplace_back("web_listen", flags.web_listen);
  }
  RETURN_IF_ERROR(server::CheckListeners(reached));
  for (const std::string& manager : flags.managers) {
    reached.emplace_back("managers", manager);
  }
  return security::CheckTlsFlags(reached);
}

}  // namespace

std::string SessionSocket(const NodeFlags& flags) {
  return std::filesystem::absolute(flags.data_dir) / "call.sock";
}

std::string LinkSocket(const NodeFlags& flags) {
  return std::filesystem::absolute(flags.data_dir) / "link.sock";
}

std::string WhyNoSharedMemory(const NodeFlags& flags) {
  const size_t longest =
      std::max(SessionSocket(flags).size(), LinkSocket(flags).size());
  if (longest <= kMaxSocketPath) return "";
  const size_t folder =
      std::filesystem::absolute(flags.data_dir).native().size();
  return absl::StrCat("--data_dir is a path of ", folder,
                      " bytes, and sockets in it may have one of ",
                      kMaxSocketPath - (longest - folder),
                      ": clients and neighbours on this machine reach this "
                      "node by tcp, not by shared memory");
}

absl::StatusOr<absl::Duration> ReadSlowOperation() {
  const uint32_t millis = absl::GetFlag(FLAGS_slow_operation_ms);
  if (millis > kMaxSlowMillis) {
    return BadFlag("slow_operation_ms",
                   absl::StrCat("must be from 0 to ", kMaxSlowMillis));
  }
  return absl::Milliseconds(millis);
}

namespace {

absl::Status ReadAddresses(NodeFlags* flags) {
  flags->listen = absl::GetFlag(FLAGS_listen);
  flags->advertise = absl::GetFlag(FLAGS_advertise);
  flags->link_listen = absl::GetFlag(FLAGS_link_listen);
  flags->link_advertise = absl::GetFlag(FLAGS_link_advertise);
  flags->session_listen = absl::GetFlag(FLAGS_session_listen);
  if (flags->session_listen.empty()) {
    flags->session_listen =
        absl::StrCat(flags->listen.substr(0, flags->listen.rfind(':')), ":0");
  }
  RETURN_IF_ERROR(CheckAddressFlag("listen", flags->listen, true));
  flags->peer_listen = absl::GetFlag(FLAGS_peer_listen);
  if (!flags->peer_listen.empty()) {
    RETURN_IF_ERROR(CheckAddressFlag("peer_listen", flags->peer_listen, true));
  }
  if (!flags->advertise.empty()) {
    RETURN_IF_ERROR(CheckAddressFlag("advertise", flags->advertise, false));
    if (!IsReachable(flags->advertise)) {
      return BadFlag("advertise",
                     absl::StrCat("is ", flags->advertise,
                                  ", which is every address; name the host "
                                  "that clients connect to"));
    }
  }
  RETURN_IF_ERROR(CheckAddressFlag("link_listen", flags->link_listen, true));
  if (!flags->link_advertise.empty()) {
    RETURN_IF_ERROR(
        CheckAddressFlag("link_advertise", flags->link_advertise, true));
  }
  RETURN_IF_ERROR(
      CheckAddressFlag("session_listen", flags->session_listen, true));
  if (flags->advertise.empty() && !IsReachable(flags->listen)) {
    return BadFlag("advertise",
                   "is required when --listen is every address; name the host "
                   "that clients connect to, as in --advertise=10.0.0.1:7001");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NodeFlags> ReadNodeFlags() {
  NodeFlags flags;
  RETURN_IF_ERROR(ReadStorage(&flags));
  RETURN_IF_ERROR(ReadAddresses(&flags));
  ASSIGN_OR_RETURN(flags.web_listen, web::WebListenOfFlags());
  RETURN_IF_ERROR(ReadTransport(&flags));
  RETURN_IF_ERROR(CheckLinksReachable(flags));
  flags.transfer_mb_per_s = absl::GetFlag(FLAGS_transfer_mb_per_s);
  if (flags.transfer_mb_per_s > kMaxMegabytes) {
    return BadFlag("transfer_mb_per_s",
                   absl::StrCat("must be from 0 to ", kMaxMegabytes));
  }
  const uint32_t keep_changes_s = absl::GetFlag(FLAGS_keep_changes_s);
  if (keep_changes_s > kMaxKeepChangesSeconds) {
    return BadFlag("keep_changes_s",
                   absl::StrCat("must be from 0 to ", kMaxKeepChangesSeconds));
  }
  flags.keep_changes = absl::Seconds(keep_changes_s);
  flags.snapshot_mb = absl::GetFlag(FLAGS_snapshot_mb);
  RETURN_IF_ERROR(CheckMegabytes("snapshot_mb", flags.snapshot_mb, 1u << 20));
  flags.scrub_mb_per_s = absl::GetFlag(FLAGS_scrub_mb_per_s);
  if (flags.scrub_mb_per_s > kMaxMegabytes) {
    return BadFlag("scrub_mb_per_s",
                   absl::StrCat("must be from 0 to ", kMaxMegabytes));
  }
  const uint32_t min_pass_s = absl::GetFlag(FLAGS_scrub_min_pass_s);
  if (min_pass_s > kMaxMinPassSeconds) {
    return BadFlag("scrub_min_pass_s",
                   absl::StrCat("must be from 0 to ", kMaxMinPassSeconds));
  }
  flags.scrub_min_pass = absl::Seconds(min_pass_s);
  ASSIGN_OR_RETURN(flags.slow_operation, ReadSlowOperation());
  ASSIGN_OR_RETURN(
      flags.managers,
      server::ReadAddressesFlag("managers", absl::GetFlag(FLAGS_managers)));
  RETURN_IF_ERROR(CheckSecure(flags));
  return flags;
}

}  // namespace kamino::node
