#include "membership/server_program.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "proto/version.h"

namespace kamino::membership {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

// Abseil ends the process with 1 for bad flags and for --help.
bool parsing_flags = false;
int parse_exit_code = kExitUsage;

void ParseFlags(const ServerProgram& program, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (absl::StartsWith(argv[i], "--help") ||
        absl::StartsWith(argv[i], "--version")) {
      parse_exit_code = 0;
    }
  }
  std::atexit([] {
    if (!parsing_flags) return;
    std::cout.flush();
    std::fflush(nullptr);
    _exit(parse_exit_code);
  });
  absl::SetProgramUsageMessage(program.usage);
  absl::FlagsUsageConfig config;
  // All flags but Abseil's own, wherever they are defined.
  config.contains_help_flags = [](absl::string_view file) {
    return !absl::StrContains(file, "absl/");
  };
  config.contains_helpshort_flags = config.contains_help_flags;
  config.version_string = [name = program.name] {
    return absl::StrCat(name, " ", kVersion, "\n");
  };
  absl::SetFlagsUsageConfig(config);
  parsing_flags = true;
  const auto rest = absl::ParseCommandLine(argc, argv);
  parsing_flags = false;
  if (rest.size() > 1) {
    std::cerr << program.name << ": unexpected argument " << rest[1] << "\n";
    std::exit(kExitUsage);
  }
}

// Shells give 1024 at first, whatever a process may have.
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  PLOG_IF(WARNING, setrlimit(RLIMIT_NOFILE, &limit) != 0)
      << "cannot have " << limit.rlim_max << " descriptors";
}

// --- Without memory nothing can be put together, and nobody answered.

[[noreturn]] void EndWithoutMemory() {
  constexpr char kLine[] =
      "out of memory: the process may have no more, and ends; allow it more "
      "(ulimit, the container's bound), or let clients do less at a time\n";
  static_cast<void>(!write(STDERR_FILENO, kLine, sizeof(kLine) - 1));
  _exit(kExitFailure);
}

// gRPC's C parts abort without a word when malloc has nothing. So whoever
// aborts, and can have no memory, ends for that.
void OnAbort(int) {
  constexpr size_t kSome = 16u << 20;
  void* some = mmap(nullptr, kSome, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (some == MAP_FAILED && errno == ENOMEM) EndWithoutMemory();
}

void ExpectLackOfMemory() {
  std::set_new_handler(EndWithoutMemory);
  struct sigaction action = {};
  action.sa_handler = OnAbort;  // abort() goes on when it returns
  PCHECK(sigaction(SIGABRT, &action, nullptr) == 0);
}

}  // namespace

absl::Status BadFlag(absl::string_view flag, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("--", flag, " ", why));
}

absl::Status CheckAddressFlag(absl::string_view flag, absl::string_view address,
                              bool any_port) {
  const size_t colon = address.rfind(':');
  uint32_t port;
  if (colon != absl::string_view::npos && colon > 0 &&
      absl::SimpleAtoi(address.substr(colon + 1), &port) && port <= 65535 &&
      (port > 0 || any_port)) {
    return absl::OkStatus();
  }
  return BadFlag(flag,
                 absl::StrCat("must be host:port, not \"", address, "\""));
}

bool IsReachable(absl::string_view address) {
  return !absl::StartsWith(address, "0.0.0.0:") &&
         !absl::StartsWith(address, "[::]:");
}

bool IsLoopback(absl::string_view address) {
  return absl::StartsWith(address, "127.") ||
         absl::StartsWith(address, "localhost:") ||
         absl::StartsWith(address, "[::1]:");
}

int RunServer(const ServerProgram& program, int argc, char** argv) {
  ParseFlags(program, argc, argv);
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  ExpectLackOfMemory();
  absl::Status configured = program.configure();
  if (!configured.ok()) {
    std::cerr << program.name << ": " << configured.message() << "\n";
    return kExitUsage;
  }
  RaiseDescriptorLimit();
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  int signal = 0;
  absl::Status served =
      program.serve([&signals, &signal] { sigwait(&signals, &signal); });
  if (served.ok()) {
    LOG(INFO) << program.name << " has ended, asked to by "
              << sigabbrev_np(signal);
    return 0;
  }
  std::cerr << program.name << ": " << served.message() << "\n";
  return kExitFailure;
}

}  // namespace kamino::membership
