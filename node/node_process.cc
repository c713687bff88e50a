#include "node/node_process.h"

#include <signal.h>
#include <unistd.h>

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "base/clock.h"
#include "base/host_id.h"
#include "base/status_macros.h"
#include "engine/pmem/medium_wait.h"
#include "engine/pmem/page_sync.h"
#include "glog/logging.h"
#include "node/driver/real_runtime.h"
#include "node/hand_over.h"
#include "node/link_admission.h"
#include "node/node_links.h"
#include "node/storage/delayed_media.h"
#include "node/storage/device_media.h"
#include "node/storage/file_media.h"
#include "node/storage/medium_errors.h"
#include "node/storage/medium_speed.h"
#include "rpc/security_metrics.h"
#include "security/tls_flags.h"

namespace kamino::node {
namespace {

// Limits wake-ups for acknowledgements that are not urgent; see ChainOptions.
constexpr absl::Duration kAckDelay = absl::Milliseconds(1);

// Leaves room to count up.
uint64_t RandomIncarnation() {
  std::random_device random;
  uint64_t incarnation = 0;
  while (incarnation == 0) {
    incarnation = static_cast<uint64_t>(random()) << 31 | random();
  }
  return incarnation;
}

absl::StatusOr<std::unique_ptr<Media>> OpenRegions(const NodeFlags& flags) {
  auto files = FileMedia::Open(flags.data_dir, flags.pmem, flags.prefault);
  if (!files.ok()) return files;
  RecordMediumErrors(flags.data_dir, flags.device);  // the folder exists by now
  if (flags.device.empty()) return files;
  // Otherwise the file would be overlooked until the node has begun anew on the
  // device.
  if ((*files)->Exists(Media::Part::kHeap)) {
    return absl::FailedPreconditionError(absl::StrCat(
        (*files)->Name(Media::Part::kHeap), " is there, but --device is ",
        flags.device, "; move the file away to begin anew on the device"));
  }
  return DeviceMedia::Open(flags.device, flags.pmem, flags.format_device);
}

absl::StatusOr<std::unique_ptr<Media>> OpenMedia(const NodeFlags& flags) {
  ASSIGN_OR_RETURN(auto media, OpenRegions(flags));
  if (flags.pmem_delays.any()) {
    LOG(WARNING) << "persistent memory is slower on purpose, by "
                 << flags.pmem_delays.drain_ns << " ns for each drain and "
                 << flags.pmem_delays.line_ns
                 << " ns for each line, by --pmem_delay_drain_ns and "
                    "--pmem_delay_line_ns";
  }
  return WithDelays(std::move(media), flags.pmem_delays);
}

OrderedSyncs SyncsOf(const NodeFlags& flags) {
  return OrderedSyncsOf(flags.storage.mode, flags.storage.undo_copy);
}

void DescribeMedium(metrics::Families* families) {
  const engine::PageSync::Totals totals = engine::PageSync::OfProcess();
  families->Counter("kamino_node_medium_syncs_total",
                    "Syncs of the node's files, where they are on a disk.",
                    static_cast<double>(totals.syncs));
  families->Counter("kamino_node_medium_sync_seconds_total",
                    "Time spent in syncs of the node's files.",
                    absl::ToDoubleSeconds(totals.time));
}

StorageOptions StorageOf(const NodeFlags& flags) {
  StorageOptions options = flags.storage;
  options.first_incarnation = RandomIncarnation();
  options.salt = RandomIncarnation();
  options.boot = BootId();
  return options;
}

}  // namespace

absl::StatusOr<std::shared_ptr<security::Certificates>> CertificatesFor(
    const NodeFlags& flags) {
  return security::CertificatesOfFlags(
      {flags.storage.cluster_id, security::Role::kNode, flags.storage.node_id});
}

void NodeProcess::Failure::Set(const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  if (status_.ok()) status_ = status;
}

absl::Status NodeProcess::Failure::Get() {
  absl::MutexLock lock(&mutex_);
  return status_;
}

NodeProcess::NodeProcess(const NodeFlags& flags) : flags_(flags) {}
NodeProcess::~NodeProcess() = default;

absl::Status NodeProcess::Start() {
  RETURN_IF_ERROR(OpenCertificates());
  RETURN_IF_ERROR(StartPages());
  RETURN_IF_ERROR(MakeNode());
  absl::Status started = servers_.Start(node_.get(), agent_.get(), link_calls_);
  if (!started.ok()) {
    End();
    node_->restarts()->OnRefused();
    return started;
  }
  TellAddress();
  absl::Status joins = node_->Join(servers_.address(), servers_.peer_address());
  if (!joins.ok()) End();
  return joins;
}

absl::Status NodeProcess::Stop() {
  const EndsInTime ends_in_time;
  HandOver(node_.get(), [this] { return !failure_.Get().ok(); });
  absl::Notification retired;
  node_->planned_stop().Retire([&retired] { retired.Notify(); });
  retired.WaitForNotificationWithTimeout(PlannedStop::kRetireTime);
  End();
  absl::Status ended = failure_.Get();
  if (ended.ok()) node_->restarts()->OnEndInOrder();
  return ended;
}

// Session links end first, and the node answers the requests that have arrived;
// then calls are neither accepted nor awaited.
void NodeProcess::End() {
  pages_.Detach();
  servers_.EndSessions();
  node_->Stop();
  servers_.End();
  link_calls_.Stop();
}

// --- Identity and pages.

absl::Status NodeProcess::OpenCertificates() {
  ASSIGN_OR_RETURN(security_.certificates, CertificatesFor(flags_));
  ASSIGN_OR_RETURN(auto roles,
                   security::FlaggedRoles::Open(security_.certificates));
  security_.roles.emplace(std::move(roles));
  return absl::OkStatus();
}

// Before the storage is opened, which may take a while, or fail.
absl::Status NodeProcess::StartPages() {
  if (!flags_.web_listen.empty()) {
    ASSIGN_OR_RETURN(web_,
                     web::Server::Start({.listen = flags_.web_listen,
                                         .certificates = security_.certificates,
                                         .access = security_.roles->access()},
                                        pages_.Routes()));
    LOG(INFO) << "metrics and probes on port " << web_->port();
  }
  RETURN_IF_ERROR(CheckNoDamage(flags_.data_dir));
  ASSIGN_OR_RETURN(security_.credentials,
                   rpc::Credentials::MakeIfAny(security_.certificates));
  pages_.Add(
      rpc::SecuritySource(security_.credentials, security_.roles->access()));
  pages_.Add(DescribeMedium);
  return absl::OkStatus();
}

// --- The chain.

absl::StatusOr<NodeOptions> NodeProcess::Options() {
  link_calls_.rendezvous = std::make_shared<GrpcRendezvous>(
      flags_.storage.cluster_id, kOnlyChain, security_.credentials);
  if (security_.on()) {
    link_calls_.passes = std::make_shared<LinkPasses>(
        flags_.storage.cluster_id, kOnlyChain, HostId(), security_.credentials);
  }
  NodeOptions options;
  options.cluster = cluster_;
  options.chain.cluster_id = flags_.storage.cluster_id;
  options.chain.chain_id = kOnlyChain;
  options.chain.node_id = flags_.storage.node_id;
  if (flags_.storage.restart_limit == 0) {
    options.restarts.first_delay = absl::ZeroDuration();
  }
  options.chain.transfer_bytes_per_s = flags_.transfer_mb_per_s * 1000 * 1000;
  options.chain.keep_changes = flags_.keep_changes;
  options.chain.ack_delay = kAckDelay;
  options.snapshots.max_bytes = flags_.snapshot_mb << 20;
  options.chain.scrub_bytes_per_s = flags_.scrub_mb_per_s * 1000 * 1000;
  options.chain.scrub_min_pass = flags_.scrub_min_pass;
  RETURN_IF_ERROR(ChooseTransports(flags_, link_calls_.rendezvous,
                                   link_calls_.passes, &options.links));
  options.links.transport.events = ListensFor("links", &pages_);
  if (security_.on()) {
    options.links.knows_peers = true;
    options.links.transport.certificates =
        security_.credentials->certificates();
    options.links.transport.admit =
        AdmitNodes(flags_.storage.cluster_id, security_.roles->access());
  }
  BoundLinks(&options.links.transport);
  return options;
}

void NodeProcess::MakeAgent() {
  membership::AgentOptions options;
  options.cluster_id = flags_.storage.cluster_id;
  options.chain_id = kOnlyChain;
  options.managers = flags_.managers;
  options.credentials = security_.credentials;
  options.cluster = cluster_;
  options.on_registered = [this](const std::string& manager) {
    const std::string serves = absl::StrCat(
        "node ", flags_.storage.node_id, " of cluster ",
        flags_.storage.cluster_id, " serves on ", servers_.address(),
        ", taken in by the manager at ", manager);
    LOG(INFO) << serves;
    TellServiceStatus(serves);
  };
  options.takes_lease = [this](absl::Duration lease) {
    return medium_check_->Check(lease);
  };
  options.medium_time = [time = core_medium_time_] {
    return time->total(MonotonicNow());
  };
  agent_ = std::make_unique<membership::MembershipAgent>(std::move(options));
}

Node::Events NodeProcess::Events(uint64_t incarnation) {
  Node::Events events;
  events.fatal = [this](const absl::Status& status) {
    failure_.Set(status);
    kill(getpid(), SIGTERM);
  };
  // No role comes before Join.
  events.role = [this](membership::Role role, bool serves) {
    servers_.SetRole(role, serves);
  };
  if (link_calls_.passes == nullptr) return events;
  link_calls_.passes->SetSelf(flags_.storage.node_id, incarnation);
  events.view = [passes = link_calls_.passes](const membership::View& view) {
    passes->SetView(view);
  };
  return events;
}

absl::Status NodeProcess::MakeNode() {
  ASSIGN_OR_RETURN(auto media, OpenMedia(flags_));
  // Before the storage is opened: a wrong transport must not count as a crash
  // of the node.
  ASSIGN_OR_RETURN(NodeOptions options, Options());
  ASSIGN_OR_RETURN(auto runtime, RealRuntime(flags_.link_spin, [this] {
                     watchdog_.Alive(MonotonicNow());
                   }));
  ASSIGN_OR_RETURN(auto storage,
                   Storage::Open(StorageOf(flags_), std::move(media)));
  engine::Region* const region = storage->heap_region();
  const absl::Duration sync = MeasureSync(region, MonotonicNow);
  LOG(INFO) << TellMedium(sync, SyncsOf(flags_));
  const auto measure = [this, region, opened = storage.get()](ChainNode&) {
    opened->EndDeferredDrains();
    medium_check_->Note(MeasureSync(region, MonotonicNow));
  };
  medium_check_.emplace(sync, SyncsOf(flags_), MonotonicNow, [this, measure] {
    node_->Run(measure);  // on the core thread, which owns the heap
  });
  procedures_.RegisterLinked();
  MakeAgent();
  Node::Events events = Events(storage->record()->state().incarnation);
  ASSIGN_OR_RETURN(node_, Node::Create(std::move(options), std::move(runtime),
                                       std::move(storage), &procedures_,
                                       agent_.get(), std::move(events)));
  node_->Run([time = core_medium_time_](ChainNode&) {
    engine::MediumWait::Watch(time);
  });
  node_->meters().TellSlowerThan(flags_.slow_operation);
  slow_operations_.emplace(config::Reloads::Get().Add(
      {"slow operations", {"slow_operation_ms"}, [this]() -> absl::Status {
         ASSIGN_OR_RETURN(const auto threshold, ReadSlowOperation());
         node_->meters().TellSlowerThan(threshold);
         return absl::OkStatus();
       }}));
  return absl::OkStatus();
}

void NodeProcess::TellAddress() const {
  const std::string listens = absl::StrCat(
      "node ", flags_.storage.node_id, " of cluster ",
      flags_.storage.cluster_id, " listens on ", flags_.listen, " as ",
      servers_.address(),
      servers_.peer_address().empty()
          ? ""
          : absl::StrCat(" and for other nodes as ", servers_.peer_address()),
      ", and registers with the manager at ",
      absl::StrJoin(flags_.managers, " or "));
  LOG(INFO) << listens;
  TellServiceIsReady(listens);
}

}  // namespace kamino::node
