// The membership manager of a Kamino cluster. Several may run; one leads.
//
// Exit codes: 0 after SIGTERM or SIGINT, 1 if it cannot continue, 2 for invalid
// flags. Logs go to stderr; the last line gives the reason for the exit.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/service_manager.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "logs/audit_thread.h"
#include "membership/etcd/etcd_client.h"
#include "membership/etcd/etcd_flags.h"
#include "membership/lease_clock.h"
#include "membership/manager/admin_service.h"
#include "membership/manager/manager.h"
#include "membership/manager/manager_service.h"
#include "membership/manager/manager_web.h"
#include "membership/page/chain_page.h"
#include "rpc/credentials.h"
#include "rpc/security_metrics.h"
#include "rpc/server.h"
#include "security/role_flags.h"
#include "security/tls_flags.h"
#include "server/audit_log.h"
#include "server/debug_service.h"
#include "server/server_program.h"
#include "web/server.h"
#include "web/web_flags.h"

ABSL_FLAG(std::string, cluster_id, "", "Name of the cluster (required).");
ABSL_FLAG(std::string, listen, "", "host:port for nodes, gRPC (required).");
ABSL_FLAG(std::string, advertise, "",
          "host:port under which nodes reach --listen; by default the same.");
ABSL_FLAG(std::string, admin_listen, "",
          "host:port for operators, gRPC. Required with certificates; without "
          "certificates the default is --listen.");
ABSL_FLAG(
    int, admin_port_of_all, 0,
    "Port at which each manager serves operators, at the host of its "
    "--advertise: a standby sends operators to this port of the leader. 0: "
    "the ports differ.");
ABSL_FLAG(std::string, audit_log, "",
          "File with a line for each call of an operator; by default the log "
          "has these lines.");
ABSL_FLAG(std::string, etcd, "", "host:port,... of etcd (required).");
ABSL_FLAG(std::string, etcd_prefix, "/kamino", "Prefix of the keys at etcd.");
ABSL_FLAG(int, chain_length, 4,
          "Nodes of the first view: f + 2 to survive f failures, or f + 1 in "
          "the modes traditional and images.");
ABSL_FLAG(
    int, failure_timeout_ms, 1000,
    "The manager drops a node from the chain that is silent for this long.");
ABSL_FLAG(int, heartbeat_interval_ms, 0,
          "Time between two heartbeats of a node; 0: a tenth of the failure "
          "timeout, 100 at most.");
ABSL_FLAG(absl::Duration, away_limit, absl::Minutes(5),
          "How long the manager keeps the place of a node after a planned "
          "stop; then another node may take it.");
ABSL_FLAG(int, leader_ttl_s, 3,
          "A leader that is cut off from etcd for this long loses leadership.");
ABSL_FLAG(bool, compact_etcd, true,
          "Whether the leader drops etcd's history older than an hour, which "
          "grows with each renewal. Turn it off if other programs at this etcd "
          "need the history: then etcd must drop it "
          "(--auto-compaction-retention).");

namespace kamino::membership {
namespace {

constexpr int kMaxChainLength = 16;
constexpr absl::Duration kMaxAway = absl::Hours(24 * 7);
constexpr int kUsualHeartbeatMs = 100;
constexpr absl::Duration kLongestPoll = absl::Milliseconds(100);
constexpr absl::Duration kEtcdDeadline = absl::Seconds(1);
constexpr absl::Duration kLongestEtcdDeadline = absl::Seconds(8);
constexpr int kMaxRequestBytes = 64 << 10;
// Nodes call continually. Idle connections of other clients would keep
// restarted nodes and operators out.
constexpr absl::Duration kMaxIdle = absl::Minutes(1);

absl::Status CheckRange(absl::string_view flag, int value, int low, int high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return server::BadFlag(
      flag, absl::StrCat("must be from ", low, " to ", high, ", not ", value));
}

struct Deployment {
  Manager::Options manager;
  std::vector<std::string> etcd_endpoints;
  std::string web_listen;
};

absl::Status CheckNames(const Deployment& deployment) {
  const std::string& prefix = deployment.manager.etcd_prefix;
  if (!absl::StartsWith(prefix, "/") || absl::EndsWith(prefix, "/")) {
    return server::BadFlag("etcd_prefix",
                           "must start with / and not end with one");
  }
  const std::string& advertise = absl::GetFlag(FLAGS_advertise);
  RETURN_IF_ERROR(
      server::CheckAddressFlag("listen", absl::GetFlag(FLAGS_listen), false));
  RETURN_IF_ERROR(
      server::CheckAddressFlag("advertise", deployment.manager.name, false));
  if (!server::IsReachable(deployment.manager.name)) {
    return server::BadFlag(
        "advertise", advertise.empty()
                         ? "is required when --listen is every address; name "
                           "the host that nodes connect to, as in "
                           "--advertise=10.0.0.1:7000"
                         : absl::StrCat("is ", advertise,
                                        ", which is every address; name the "
                                        "host that nodes connect to"));
  }
  return absl::OkStatus();
}

absl::Status CheckSecure(const Deployment& deployment) {
  std::vector<security::Reached> reached = {
      {"listen", absl::GetFlag(FLAGS_listen)}};
  const std::string& admin = absl::GetFlag(FLAGS_admin_listen);
  if (!admin.empty()) {
    RETURN_IF_ERROR(server::CheckAddressFlag("admin_listen", admin, false));
    reached.emplace_back("admin_listen", admin);
  }
  if (!deployment.web_listen.empty()) {
    reached.emplace_back("web_listen", deployment.web_listen);
  }
  RETURN_IF_ERROR(server::CheckListeners(reached));
  RETURN_IF_ERROR(CheckEtcdFlags(deployment.etcd_endpoints));
  RETURN_IF_ERROR(security::CheckTlsFlags(reached));
  if (admin.empty() && security::FlagsNameCertificates()) {
    return server::BadFlag(
        "admin_listen",
        "is required with --tls_cert: operators are served apart "
        "from nodes");
  }
  return absl::OkStatus();
}

absl::StatusOr<Deployment> ReadFlags() {
  Deployment deployment;
  Manager::Options& options = deployment.manager;
  options.core.cluster_id = absl::GetFlag(FLAGS_cluster_id);
  RETURN_IF_ERROR(server::CheckIdFlag("cluster_id", options.core.cluster_id));
  options.etcd_prefix = absl::GetFlag(FLAGS_etcd_prefix);
  options.name = absl::GetFlag(FLAGS_advertise).empty()
                     ? absl::GetFlag(FLAGS_listen)
                     : absl::GetFlag(FLAGS_advertise);
  ASSIGN_OR_RETURN(
      deployment.etcd_endpoints,
      server::ReadAddressesFlag("etcd", absl::GetFlag(FLAGS_etcd)));
  ASSIGN_OR_RETURN(deployment.web_listen, web::WebListenOfFlags());
  const int timeout_ms = absl::GetFlag(FLAGS_failure_timeout_ms);
  int interval_ms = absl::GetFlag(FLAGS_heartbeat_interval_ms);
  if (interval_ms == 0) {
    interval_ms = std::min(kUsualHeartbeatMs, std::max(1, timeout_ms / 10));
  }
  const int length = absl::GetFlag(FLAGS_chain_length);
  const int ttl = absl::GetFlag(FLAGS_leader_ttl_s);
  std::vector<absl::Status> checks = {
      CheckNames(deployment),
      CheckRange("chain_length", length, 1, kMaxChainLength),
      CheckRange("failure_timeout_ms", timeout_ms, 100, 600000),
      // A lease survives the loss of some heartbeats.
      CheckRange("heartbeat_interval_ms", interval_ms, 1, timeout_ms / 4),
      CheckRange("leader_ttl_s", ttl, 1, 600),
      CheckRange("admin_port_of_all", absl::GetFlag(FLAGS_admin_port_of_all), 0,
                 65535)};
  const absl::Duration away = absl::GetFlag(FLAGS_away_limit);
  if (away < absl::ZeroDuration() || away > kMaxAway) {
    checks.push_back(server::BadFlag(
        "away_limit", absl::StrCat("must be from 0 to 168h, not ",
                                   absl::FormatDuration(away))));
  }
  for (const absl::Status& check : checks) {
    if (!check.ok()) return check;
  }
  RETURN_IF_ERROR(CheckSecure(deployment));
  options.core.chain_length = static_cast<size_t>(length);
  options.core.failure_timeout = absl::Milliseconds(timeout_ms);
  options.core.heartbeat_interval = absl::Milliseconds(interval_ms);
  options.poll_interval = std::clamp(options.core.heartbeat_interval / 5,
                                     options.poll_interval, kLongestPoll);
  options.core.away_limit = away;
  options.leader_ttl = absl::Seconds(ttl);
  options.compacts = absl::GetFlag(FLAGS_compact_etcd);
  return deployment;
}

// Audits denied calls of operators; the log has only some of them.
void AuditDenials(server::AuditLog* audit, logs::AuditThread* thread,
                  security::Access* access) {
  if (access == nullptr) return;  // without certificates none is denied
  access->SetOnDenied([=](const absl::Status& why, absl::string_view call,
                          absl::string_view who) {
    if (!absl::StartsWith(call, "/kamino.v1.AdminService/") &&
        !absl::StartsWith(call, "/kamino.v1.DebugService/")) {
      return;
    }
    server::AuditRecord record;
    record.who = std::string(who);
    record.call = std::string(call);
    record.outcome = why;
    // The call fails in any case; a line that cannot be queued is counted.
    const absl::Status queued =
        thread->Begin([audit, record](const logs::AuditThread::PlacePtr&,
                                      const absl::Status&) {
          audit->Add(record, /*waits=*/false).IgnoreError();
        });
    if (!queued.ok()) audit->AddToLog(record);
  });
}

absl::StatusOr<std::shared_ptr<security::Certificates>> CertificatesFor(
    const Deployment& deployment) {
  return security::CertificatesOfFlags({deployment.manager.core.cluster_id,
                                        security::Role::kManager, /*name=*/""});
}

std::vector<web::Route> RoutesOf(ManagerWeb& pages, ChainPage& chain_page) {
  std::vector<web::Route> routes = pages.Routes();
  for (web::Route& route : chain_page.Routes()) {
    routes.push_back(std::move(route));
  }
  return routes;
}

absl::Status CheckFiles() {
  ASSIGN_OR_RETURN(const Deployment deployment, ReadFlags());
  ASSIGN_OR_RETURN(auto certificates, CertificatesFor(deployment));
  RETURN_IF_ERROR(EtcdAccessOfFlags().status());
  return security::FlaggedRoles::Open(std::move(certificates)).status();
}

absl::Status Serve(const Deployment& deployment,
                   const std::function<void()>& await_end) {
  const Manager::Options& options = deployment.manager;
  ASSIGN_OR_RETURN(auto certificates, CertificatesFor(deployment));
  ASSIGN_OR_RETURN(const auto roles,
                   security::FlaggedRoles::Open(certificates));
  const std::string admin_listen = absl::GetFlag(FLAGS_admin_listen);
  ASSIGN_OR_RETURN(EtcdAccess etcd_access, EtcdAccessOfFlags());
  ASSIGN_OR_RETURN(const auto audit,
                   server::AuditLog::Open(absl::GetFlag(FLAGS_audit_log)));
  logs::AuditThread audit_thread;
  AuditDenials(audit.get(), &audit_thread, roles.access().get());
  // A leader must reach a second endpoint before its leadership ends.
  const absl::Duration longest =
      std::min(kLongestEtcdDeadline, options.leader_ttl / 4);
  const EtcdDeadlines deadlines = {std::min(kEtcdDeadline, longest), longest};
  ServiceWatchdog watchdog;
  Manager manager(
      options,
      std::make_unique<EtcdClient>(deployment.etcd_endpoints, deadlines,
                                   std::move(etcd_access)),
      LeaseClockNow, [&watchdog] { watchdog.Alive(MonotonicNow()); });
  ManagerService service(&manager);
  AdminService admin(&manager,
                     {audit.get(), &audit_thread, !admin_listen.empty(),
                      absl::GetFlag(FLAGS_admin_port_of_all)});
  ManagerWeb pages(&manager);
  rpc::ServerOptions server_options;
  ASSIGN_OR_RETURN(server_options.credentials,
                   rpc::Credentials::MakeIfAny(certificates));
  ChainPage chain_page(&manager, server_options.credentials);
  server::DebugService debug(
      "kamino_manager", &manager.cluster(),
      [&pages] { return pages.Metrics(); }, &audit_thread, audit.get());
  server_options.max_idle = kMaxIdle;
  server_options.listen = absl::GetFlag(FLAGS_listen);
  server_options.max_request_bytes = kMaxRequestBytes;
  server_options.access = roles.access();
  pages.Add(rpc::SecuritySource(server_options.credentials, roles.access()));
  std::vector<grpc::Service*> services = {&service};
  const std::vector<grpc::Service*> of_operators = {&admin, &debug};
  std::unique_ptr<rpc::Server> apart;
  if (admin_listen.empty()) {
    services.insert(services.end(), of_operators.begin(), of_operators.end());
  } else {
    rpc::ServerOptions admin_options = server_options;
    admin_options.listen = admin_listen;
    ASSIGN_OR_RETURN(apart, rpc::Server::Start(admin_options, of_operators));
  }
  ASSIGN_OR_RETURN(const auto server,
                   rpc::Server::Start(server_options, services));
  std::unique_ptr<web::Server> web;
  if (!deployment.web_listen.empty()) {
    ASSIGN_OR_RETURN(web, web::Server::Start({.listen = deployment.web_listen,
                                              .certificates = certificates,
                                              .access = roles.access()},
                                             RoutesOf(pages, chain_page)));
    LOG(INFO) << "metrics, probes and the live page on port " << web->port();
  }
  const std::string serves = absl::StrCat(
      "manager of cluster ", options.core.cluster_id, " listens on ",
      absl::GetFlag(FLAGS_listen),
      apart == nullptr ? ""
                       : absl::StrCat(", for operators on ", admin_listen));
  LOG(INFO) << serves;
  TellServiceIsReady(serves);
  await_end();
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  server::ServerProgram program;
  program.name = "kamino_manager";
  program.usage =
      "The membership manager of a Kamino cluster. Example:\n"
      "  kamino_manager --cluster_id=c --listen=127.0.0.1:7000 "
      "--etcd=127.0.0.1:2379";
  program.check = [] { return ReadFlags().status(); };
  program.check_files = CheckFiles;
  program.example = {{"cluster_id", "c"},
                     {"listen", "127.0.0.1:7000"},
                     {"etcd", "127.0.0.1:2379"}};
  program.with_certificates = {{"admin_listen", "127.0.0.1:7005"}};
  program.serve = [](const std::function<void()>& await_end) -> absl::Status {
    ASSIGN_OR_RETURN(const Deployment deployment, ReadFlags());
    return Serve(deployment, await_end);
  };
  return server::RunServer(program, argc, argv);
}

}  // namespace
}  // namespace kamino::membership

int main(int argc, char** argv) { return kamino::membership::Main(argc, argv); }
