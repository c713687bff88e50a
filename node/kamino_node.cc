// A node of a Kamino chain.
//
// Exit codes: 0 after SIGTERM or SIGINT, 1 when it cannot continue, 2 for bad
// flags. Logs go to stderr; the last line says why it exits.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "node/memory_limit.h"
#include "node/node_flags.h"
#include "node/node_process.h"
#include "security/role_flags.h"
#include "server/server_program.h"

namespace kamino::node {
namespace {

absl::Status CheckFiles() {
  ASSIGN_OR_RETURN(const NodeFlags flags, ReadNodeFlags());
  ASSIGN_OR_RETURN(auto certificates, CertificatesFor(flags));
  return security::FlaggedRoles::Open(std::move(certificates)).status();
}

absl::Status CheckMachine() {
  ASSIGN_OR_RETURN(const NodeFlags flags, ReadNodeFlags());
  const MemoryNeed need = NeedOf(flags);
  return CheckMemory(flags, need, ReadMemoryLimit(need));
}

std::vector<std::string> Warnings() {
  const auto flags = ReadNodeFlags();
  if (!flags.ok()) return {};
  const MemoryNeed need = NeedOf(*flags);
  std::vector<std::string> warnings;
  for (const std::string& warning :
       {WhyNoSharedMemory(*flags),
        MemoryWarning(need, ReadMemoryLimit(need))}) {
    if (!warning.empty()) warnings.push_back(warning);
  }
  return warnings;
}

absl::Status Serve(const std::function<void()>& await_end) {
  ASSIGN_OR_RETURN(const NodeFlags flags, ReadNodeFlags());
  NodeProcess process(flags);
  RETURN_IF_ERROR(process.Start());
  await_end();
  return process.Stop();
}

int Main(int argc, char** argv) {
  server::ServerProgram program;
  program.name = "kamino_node";
  program.usage =
      "A node of a Kamino chain. Example:\n"
      "  kamino_node --cluster_id=c --node_id=n1 --data_dir=/var/lib/kamino/n1 "
      "--listen=127.0.0.1:7001 --managers=127.0.0.1:7000";
  program.check = [] { return ReadNodeFlags().status(); };
  program.check_files = CheckFiles;
  program.check_machine = CheckMachine;
  program.warnings = Warnings;
  program.example = {{"cluster_id", "c"},
                     {"node_id", "n1"},
                     {"data_dir", "/var/lib/kamino/n1"},
                     {"listen", "127.0.0.1:7001"},
                     {"managers", "127.0.0.1:7000"}};
  program.serve = Serve;
  return server::RunServer(program, argc, argv);
}

}  // namespace
}  // namespace kamino::node

int main(int argc, char** argv) { return kamino::node::Main(argc, argv); }
