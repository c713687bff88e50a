// A node of a Kamino chain.
//
// Exit codes: 0 after SIGTERM or SIGINT, 1 when it cannot go on, 2 for bad
// flags. Logs go to stderr; the last line says why it exits.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "base/clock.h"
#include "base/host_id.h"
#include "base/memory_trimmer.h"
#include "base/service_manager.h"
#include "base/status_macros.h"
#include "config/reload.h"
#include "glog/logging.h"
#include "head/procedures/bank_transfer.h"
#include "membership/debug_service.h"
#include "membership/membership_agent.h"
#include "membership/server_program.h"
#include "membership/vouch_calls.h"
#include "node/driver/node.h"
#include "node/driver/real_runtime.h"
#include "node/hand_over.h"
#include "node/link_admission.h"
#include "node/listener_metrics.h"
#include "node/node_flags.h"
#include "node/node_web.h"
#include "node/rpc/backup_service.h"
#include "node/rpc/grpc_rendezvous.h"
#include "node/rpc/link_passes.h"
#include "node/rpc/node_server.h"
#include "node/rpc/session_service.h"
#include "node/session/session_links.h"
#include "node/session/session_server.h"
#include "node/storage/delayed_media.h"
#include "node/storage/device_media.h"
#include "node/storage/file_media.h"
#include "node/storage/medium_errors.h"
#include "replica/procedure.h"
#include "rpc/credentials.h"
#include "rpc/security_metrics.h"
#include "rpc/server.h"
#include "security/role_flags.h"
#include "security/tls_flags.h"
#include "transport/shm/shm_transport.h"
#include "transport/tcp/tcp_transport.h"
#include "transport/verbs/choose_port.h"
#include "transport/verbs/ibverbs_device.h"
#include "transport/verbs/send_transport.h"
#include "transport/verbs/verbs_transport.h"
#include "web/server.h"

namespace kamino::node {
namespace {

// Why the process must end; set once.
class Failure {
 public:
  void Set(const absl::Status& status) {
    absl::MutexLock lock(&mutex_);
    if (status_.ok()) status_ = status;
  }
  absl::Status Get() {
    absl::MutexLock lock(&mutex_);
    return status_;
  }

 private:
  absl::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

// Of other nodes' calls, which bring some hundred bytes.
constexpr int kMaxPeerRequestBytes = 64 << 10;

// No more wake-ups than that for what nobody waits for; see ChainOptions.
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

// Decides on the transports, and says why; what was chosen comes first.
// `rendezvous` sets verbs links up; with certificates `passes` are for those in
// shared memory.
absl::Status ChooseTransports(const NodeFlags& flags,
                              std::shared_ptr<GrpcRendezvous> rendezvous,
                              const std::shared_ptr<LinkPasses>& passes,
                              LinkHub::Options* links) {
  const bool any = flags.transport == "auto";
  links->first_is_chosen = !any;
  links->host_id = HostId();
  links->transport.spin = flags.link_spin;
  if (any || flags.transport == "shm") {
    transport::ShmPasses of_shm;
    if (passes != nullptr) of_shm = {passes->book(), passes};
    links->offers.push_back(
        {transport::ShmTransports("/tmp", std::move(of_shm)),
         std::filesystem::absolute(flags.data_dir) / "link.sock",
         /*advertise=*/""});
  }
  if (any || flags.transport == "verbs") {
    const auto verbs = transport::SystemVerbs();
    const auto port = transport::OpenPort(verbs.get(), flags.verbs);
    if (port.ok()) {
      links->offers.push_back({transport::VerbsTransports(
                                   {flags.verbs, std::move(rendezvous), verbs}),
                               /*listen=*/"", /*advertise=*/""});
      LOG(INFO) << "chain links: --transport=" << flags.transport
                << ", verbs on " << Describe(port->choice);
    } else if (any) {
      LOG(INFO) << "chain links: --transport=auto, tcp because there is "
                << port.status().message();
    } else {
      return absl::Status(
          port.status().code(),
          absl::StrCat("--transport=verbs: ", port.status().message(),
                       "; ibv_devinfo shows what the machine has, and "
                       "--transport=auto takes tcp where there is no port"));
    }
  } else {
    LOG(INFO) << "chain links: " << flags.transport << ", by --transport";
  }
  links->offers.push_back(
      {transport::TcpTransports(), flags.link_listen, flags.link_advertise});
  return absl::OkStatus();
}

absl::StatusOr<NodeOptions> OptionsFrom(
    const NodeFlags& flags, std::shared_ptr<GrpcRendezvous> rendezvous,
    const std::shared_ptr<LinkPasses>& passes) {
  NodeOptions options;
  options.chain.cluster_id = flags.storage.cluster_id;
  options.chain.chain_id = kOnlyChain;
  options.chain.node_id = flags.storage.node_id;
  if (flags.storage.restart_limit == 0) {
    options.restarts.first_delay = absl::ZeroDuration();
  }
  options.chain.transfer_bytes_per_s = flags.transfer_mb_per_s * 1000 * 1000;
  options.chain.keep_changes = flags.keep_changes;
  options.chain.ack_delay = kAckDelay;
  options.snapshots.max_bytes = flags.snapshot_mb << 20;
  options.chain.scrub_bytes_per_s = flags.scrub_mb_per_s * 1000 * 1000;
  options.chain.scrub_min_pass = flags.scrub_min_pass;
  RETURN_IF_ERROR(
      ChooseTransports(flags, std::move(rendezvous), passes, &options.links));
  return options;
}

// `service` sets those over verbs up, and gives out passes for shm. Best first.
std::vector<SessionLinks::Offer> SessionOffers(const NodeFlags& flags,
                                               const SessionService& service) {
  std::vector<SessionLinks::Offer> offers;
  const std::string host_id = HostId();
  if (!host_id.empty()) {
    offers.push_back({transport::ShmTransports(
                          "/tmp", {service.passes(), /*source=*/nullptr}),
                      std::filesystem::absolute(flags.data_dir) / "call.sock",
                      host_id});
  }
  if (flags.transport == "auto" || flags.transport == "verbs") {
    const auto verbs = transport::SystemVerbs();
    const auto port = transport::OpenPort(verbs.get(), flags.verbs);
    if (port.ok()) {
      LOG(INFO) << "sessions: also over verbs, on " << Describe(port->choice);
      offers.push_back({transport::VerbsSendTransports(
                            {flags.verbs, service.rendezvous(), verbs}),
                        "", ""});
    }
  }
  offers.push_back({transport::TcpTransports(), flags.session_listen, ""});
  return offers;
}

std::string HostOf(const std::string& address) {
  return address.substr(0, address.rfind(':'));
}

std::string Advertised(const NodeFlags& flags, int port) {
  if (!flags.advertise.empty()) return flags.advertise;
  return absl::StrCat(HostOf(flags.listen), ":", port);
}

// Where other nodes' calls come; "": where clients' do.
std::string PeerListen(const NodeFlags& flags, bool secure) {
  if (!flags.peer_listen.empty() || !secure) return flags.peer_listen;
  return absl::StrCat(HostOf(flags.listen), ":0");
}

absl::StatusOr<std::unique_ptr<Media>> OpenMedia(const NodeFlags& flags) {
  auto files = FileMedia::Open(flags.data_dir, flags.pmem, flags.prefault);
  if (!files.ok()) return files;
  RecordMediumErrors(flags.data_dir, flags.device);  // the folder is there now
  if (flags.device.empty()) return files;
  // Nobody would miss it before the node has begun anew on the device.
  if ((*files)->Exists(Media::Part::kHeap)) {
    return absl::FailedPreconditionError(absl::StrCat(
        (*files)->Name(Media::Part::kHeap), " is there, but --device is ",
        flags.device, "; move the file away to begin anew on the device"));
  }
  return DeviceMedia::Open(flags.device, flags.pmem, flags.format_device);
}

absl::StatusOr<std::shared_ptr<security::Certificates>> CertificatesFor(
    const NodeFlags& flags) {
  return security::CertificatesOfFlags(
      {flags.storage.cluster_id, security::Role::kNode, flags.storage.node_id});
}

absl::Status CheckFiles() {
  ASSIGN_OR_RETURN(const NodeFlags flags, ReadNodeFlags());
  ASSIGN_OR_RETURN(auto certificates, CertificatesFor(flags));
  return security::FlaggedRoles::Open(std::move(certificates)).status();
}

absl::Status Serve(const NodeFlags& flags,
                   const std::function<void()>& await_end) {
  ASSIGN_OR_RETURN(auto certificates, CertificatesFor(flags));
  ASSIGN_OR_RETURN(const auto roles,
                   security::FlaggedRoles::Open(certificates));
  NodeWeb pages;
  std::unique_ptr<web::Server> web;
  if (!flags.web_listen.empty()) {
    ASSIGN_OR_RETURN(web, web::Server::Start({.listen = flags.web_listen,
                                              .certificates = certificates,
                                              .access = roles.access()},
                                             pages.Routes()));
    LOG(INFO) << "metrics and probes on port " << web->port();
  }
  RETURN_IF_ERROR(CheckNoDamage(flags.data_dir));
  ASSIGN_OR_RETURN(const auto credentials,
                   rpc::Credentials::MakeIfAny(certificates));
  pages.Add(rpc::SecuritySource(credentials, roles.access()));
  const auto listens_for = [&pages](const char* what) {
    auto counts = std::make_shared<ListenerMetrics>(what);
    pages.Add(
        [counts](metrics::Families* families) { counts->Describe(families); });
    return counts;
  };
  ASSIGN_OR_RETURN(auto media, OpenMedia(flags));
  if (flags.pmem_delays.any()) {
    LOG(WARNING) << "persistent memory is slower on purpose, by "
                 << flags.pmem_delays.drain_ns << " ns for each drain and "
                 << flags.pmem_delays.line_ns
                 << " ns for each line, by --pmem_delay_drain_ns and "
                    "--pmem_delay_line_ns";
  }
  media = WithDelays(std::move(media), flags.pmem_delays);
  // What is wrong with a transport is no death of the node's.
  auto rendezvous = std::make_shared<GrpcRendezvous>(flags.storage.cluster_id,
                                                     kOnlyChain, credentials);
  std::shared_ptr<LinkPasses> passes;
  if (credentials != nullptr) {
    passes = std::make_shared<LinkPasses>(flags.storage.cluster_id, kOnlyChain,
                                          credentials);
  }
  ASSIGN_OR_RETURN(auto options, OptionsFrom(flags, rendezvous, passes));
  options.links.transport.events = listens_for("links");
  if (credentials != nullptr) {
    options.links.knows_peers = true;
    options.links.transport.certificates = credentials->certificates();
    options.links.transport.admit =
        AdmitNodes(flags.storage.cluster_id, roles.access());
  }
  BoundLinks(&options.links.transport);
  ServiceWatchdog watchdog;
  ASSIGN_OR_RETURN(auto runtime, RealRuntime(flags.link_spin, [&watchdog] {
                     watchdog.Alive(MonotonicNow());
                   }));
  StorageOptions storage_options = flags.storage;
  storage_options.first_incarnation = RandomIncarnation();
  storage_options.salt = RandomIncarnation();
  storage_options.boot = BootId();
  ASSIGN_OR_RETURN(auto storage,
                   Storage::Open(storage_options, std::move(media)));

  replica::ProcedureRegistry procedures;
  procedures.Register(head::kBankTransfer, head::BankTransfer);

  membership::AgentOptions agent_options;
  agent_options.cluster_id = flags.storage.cluster_id;
  agent_options.chain_id = kOnlyChain;
  agent_options.managers = flags.managers;
  agent_options.credentials = credentials;
  std::string address;  // known before Join
  agent_options.on_registered = [&](const std::string& manager) {
    const std::string serves =
        absl::StrCat("node ", flags.storage.node_id, " of cluster ",
                     flags.storage.cluster_id, " serves on ", address,
                     ", taken in by the manager at ", manager);
    LOG(INFO) << serves;
    TellServiceStatus(serves);
  };
  membership::MembershipAgent agent(std::move(agent_options));

  Failure failure;
  std::unique_ptr<NodeServer> server;
  Node::Events events;
  events.fatal = [&failure](const absl::Status& status) {
    failure.Set(status);
    kill(getpid(), SIGTERM);
  };
  // No role comes before Join.
  events.role = [&server](membership::Role role, bool lease_valid) {
    server->SetRole(role, lease_valid);
  };
  if (passes != nullptr) {
    passes->SetSelf(flags.storage.node_id,
                    storage->record()->state().incarnation);
    events.view = [passes](const membership::View& view) {
      passes->SetView(view);
    };
  }
  ASSIGN_OR_RETURN(
      auto node,
      Node::Create(std::move(options), std::move(runtime), std::move(storage),
                   &procedures, &agent, std::move(events)));
  node->TellSlowerThan(flags.slow_operation);
  const auto slow_operations = config::Reloads::Get().Add(
      {"slow operations", {"slow_operation_ms"}, [&node]() -> absl::Status {
         ASSIGN_OR_RETURN(const auto threshold, ReadSlowOperation());
         node->TellSlowerThan(threshold);
         return absl::OkStatus();
       }});
  membership::VouchServer vouches(&agent);
  MemoryTrimmer trimmer;
  SessionServerOptions session_options;
  session_options.on_much_freed = [&trimmer] { trimmer.Ask(); };
  session_options.access = roles.access().get();
  SessionServer sessions(session_options, node.get());
  SessionService session_service(&sessions);
  BackupService backups(node.get());
  membership::DebugService debug("kamino_node",
                                 [&pages] { return pages.Metrics(); });
  std::unique_ptr<SessionLinks> session_links;
  std::unique_ptr<rpc::Server> peers;
  const auto stop = [&] {
    pages.Detach();
    session_links.reset();
    node->Stop();
    server.reset();
    peers.reset();
    rendezvous->Stop();
    if (passes != nullptr) passes->Stop();
  };
  const auto start = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(
        session_links,
        SessionLinks::Listen(SessionOffers(flags, session_service), &sessions,
                             certificates, listens_for("sessions")));
    std::vector<grpc::Service*> services = {&session_service, &backups, &debug};
    std::vector<grpc::Service*> of_peers = {rendezvous.get(), &vouches};
    if (passes != nullptr) of_peers.push_back(passes.get());
    const std::string peer_listen =
        PeerListen(flags, /*secure=*/credentials != nullptr);
    if (peer_listen.empty()) {
      services.insert(services.end(), of_peers.begin(), of_peers.end());
    } else {
      rpc::ServerOptions apart;
      apart.listen = peer_listen;
      apart.max_request_bytes = kMaxPeerRequestBytes;
      apart.credentials = credentials;
      apart.access = roles.access();
      ASSIGN_OR_RETURN(peers, rpc::Server::Start(apart, of_peers));
    }
    ASSIGN_OR_RETURN(server, NodeServer::Start(flags.listen, node.get(),
                                               services, session_links->live(),
                                               credentials, roles.access()));
    return absl::OkStatus();
  };
  if (absl::Status started = start(); !started.ok()) {
    stop();
    node->EndRefused();
    return started;
  }
  pages.Attach(node.get(), &agent);
  address = Advertised(flags, server->port());
  session_service.SetCarriers(session_links->carriers(address));
  const std::string peer_address =
      peers == nullptr ? "" : absl::StrCat(HostOf(address), ":", peers->port());
  const std::string listens = absl::StrCat(
      "node ", flags.storage.node_id, " of cluster ", flags.storage.cluster_id,
      " listens on ", flags.listen, " as ", address,
      peers == nullptr ? "" : " and for other nodes as ", peer_address,
      ", and asks to be taken in by ", absl::StrJoin(flags.managers, " or "));
  LOG(INFO) << listens;
  TellServiceIsReady(listens);
  if (absl::Status joins = node->Join(address, peer_address); !joins.ok()) {
    stop();
    return joins;
  }

  await_end();
  const EndsInTime ends_in_time;
  HandOver(node.get(), [&failure] { return !failure.Get().ok(); });
  absl::Notification retired;
  node->Retire([&retired] { retired.Notify(); });
  retired.WaitForNotificationWithTimeout(Node::kRetireTime);
  stop();
  absl::Status ended = failure.Get();
  if (ended.ok()) node->EndInOrder();
  return ended;
}

int Main(int argc, char** argv) {
  membership::ServerProgram program;
  program.name = "kamino_node";
  program.usage =
      "A node of a Kamino chain. Example:\n"
      "  kamino_node --cluster_id=c --node_id=n1 --data_dir=/var/lib/kamino/n1 "
      "--listen=127.0.0.1:7001 --managers=127.0.0.1:7000";
  program.check = [] { return ReadNodeFlags().status(); };
  program.check_files = CheckFiles;
  program.example = {{"cluster_id", "c"},
                     {"node_id", "n1"},
                     {"data_dir", "/var/lib/kamino/n1"},
                     {"listen", "127.0.0.1:7001"},
                     {"managers", "127.0.0.1:7000"}};
  program.serve = [](const std::function<void()>& await_end) -> absl::Status {
    ASSIGN_OR_RETURN(const NodeFlags flags, ReadNodeFlags());
    return Serve(flags, await_end);
  };
  return membership::RunServer(program, argc, argv);
}

}  // namespace
}  // namespace kamino::node

int main(int argc, char** argv) { return kamino::node::Main(argc, argv); }
