// A node of a Kamino chain.
//
// Exit codes: 0 after SIGTERM or SIGINT, 1 when it cannot go on, 2 for bad
// flags. Logs go to stderr; the last line says why it exits.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "glog/logging.h"
#include "head/node.h"
#include "head/node_flags.h"
#include "head/node_server.h"
#include "head/procedures/bank_transfer.h"
#include "membership/membership_agent.h"
#include "replica/procedure.h"

namespace kamino::head {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

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

uint64_t NewIncarnation() {
  std::random_device random;
  uint64_t incarnation = 0;
  while (incarnation == 0) {
    incarnation = static_cast<uint64_t>(random()) << 32 | random();
  }
  return incarnation;
}

NodeOptions OptionsFrom(const NodeFlags& flags) {
  NodeOptions options;
  options.chain.cluster_id = flags.storage.cluster_id;
  options.chain.node_id = flags.storage.node_id;
  options.chain.incarnation = NewIncarnation();
  options.links.preferred = flags.transport;
  options.links.listen["tcp"] = flags.link_listen;
  if (flags.transport == "shm") {
    options.links.listen["shm"] =
        std::filesystem::absolute(flags.storage.data_dir) / "link.sock";
  }
  return options;
}

// Blocked in every thread, so that the main thread can wait for them.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

std::string Advertised(const NodeFlags& flags, int port) {
  if (!flags.advertise.empty()) return flags.advertise;
  return absl::StrCat(flags.listen.substr(0, flags.listen.rfind(':')), ":",
                      port);
}

absl::Status Serve(const NodeFlags& flags, const sigset_t& signals) {
  auto storage = Storage::Open(flags.storage);
  if (!storage.ok()) return storage.status();

  replica::ProcedureRegistry procedures;
  procedures.Register(kBankTransfer, BankTransfer);

  membership::AgentOptions agent_options;
  agent_options.cluster_id = flags.storage.cluster_id;
  agent_options.managers = flags.managers;
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
  auto node = Node::Create(OptionsFrom(flags), std::move(*storage), &procedures,
                           &agent, std::move(events));
  if (!node.ok()) return node.status();
  auto started = NodeServer::Start(flags.listen, node->get());
  if (!started.ok()) return started.status();
  server = std::move(*started);
  const std::string address = Advertised(flags, server->port());
  if (absl::Status joined = (*node)->Join(address); !joined.ok()) {
    return joined;
  }
  LOG(INFO) << "node " << flags.storage.node_id << " of cluster "
            << flags.storage.cluster_id << " serves on " << address;

  int signal = 0;
  sigwait(&signals, &signal);
  (*node)->Stop();
  server.reset();
  return failure.Get();
}

// Abseil ends the process with 1 for bad flags and for --help.
bool parsing_flags = false;
int parse_exit_code = kExitUsage;

void ParseFlags(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (absl::StartsWith(argv[i], "--help")) parse_exit_code = 0;
  }
  std::atexit([] {
    if (!parsing_flags) return;
    std::cout.flush();
    std::fflush(nullptr);
    _exit(parse_exit_code);
  });
  absl::SetProgramUsageMessage(
      "A node of a Kamino chain. Example:\n"
      "  kamino_node --cluster_id=c --node_id=n1 --data_dir=/var/lib/kamino/n1 "
      "--listen=127.0.0.1:7001 --managers=127.0.0.1:7000");
  parsing_flags = true;
  const auto rest = absl::ParseCommandLine(argc, argv);
  parsing_flags = false;
  if (rest.size() > 1) {
    std::cerr << "kamino_node: unexpected argument " << rest[1] << "\n";
    std::exit(kExitUsage);
  }
}

int Main(int argc, char** argv) {
  ParseFlags(argc, argv);
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  auto flags = ReadNodeFlags();
  if (!flags.ok()) {
    std::cerr << "kamino_node: " << flags.status().message() << "\n";
    return kExitUsage;
  }
  const sigset_t signals = BlockSignals();
  absl::Status served = Serve(*flags, signals);
  if (served.ok()) return 0;
  std::cerr << "kamino_node: " << served.message() << "\n";
  return kExitFailure;
}

}  // namespace
}  // namespace kamino::head

int main(int argc, char** argv) { return kamino::head::Main(argc, argv); }
