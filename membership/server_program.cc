#include "membership/server_program.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <new>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "base/address.h"
#include "base/parse_flags.h"
#include "base/service_manager.h"
#include "config/example.h"
#include "config/program_config.h"
#include "glog/logging.h"
#include "proto/version.h"

namespace kamino::membership {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
// Of a cluster's or a node's id: the heap's label has both, and the chain's.
constexpr size_t kMaxIdBytes = 48;

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

bool MayHaveNoMemory() {
  constexpr size_t kSome = 16u << 20;
  void* some = mmap(nullptr, kSome, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return some == MAP_FAILED && errno == ENOMEM;
}

// gRPC's C parts abort without a word when malloc has nothing. So whoever
// aborts, and can have no memory, ends for that.
void OnAbort(int) {
  if (MayHaveNoMemory()) EndWithoutMemory();
  // abort() goes on when this returns.
}

// gRPC fills its slices without a look at what malloc said. Any other fault
// ends the process as if there were no handler: with the same instruction, or
// sent once more where another process has sent it.
void OnFault(int number, siginfo_t* info, void*) {
  constexpr uintptr_t kBehindNull = 64u << 10;
  const bool of_null = reinterpret_cast<uintptr_t>(info->si_addr) < kBehindNull;
  const bool sent = info->si_code <= 0;
  if (of_null && !sent && MayHaveNoMemory()) EndWithoutMemory();
  signal(number, SIG_DFL);
  if (sent) raise(number);
}

void ExpectLackOfMemory() {
  std::set_new_handler(EndWithoutMemory);
  struct sigaction abort_action = {};
  abort_action.sa_handler = OnAbort;
  PCHECK(sigaction(SIGABRT, &abort_action, nullptr) == 0);
  struct sigaction fault_action = {};
  fault_action.sa_sigaction = OnFault;
  // Not SA_RESETHAND: another thread's fault would end the process before the
  // line of the first is written.
  fault_action.sa_flags = SA_SIGINFO;
  PCHECK(sigaction(SIGSEGV, &fault_action, nullptr) == 0);
}

// As a configuration file names it.
std::string SectionOf(const ServerProgram& program) {
  return std::string(absl::StripPrefix(program.name, "kamino_"));
}

bool AsksForHelp(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](absl::string_view word) {
    return absl::StartsWith(word, "--help") ||
           absl::StartsWith(word, "--version");
  });
}

// Those that RunServer waits for.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

}  // namespace

absl::Status BadFlag(absl::string_view flag, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("--", flag, " ", why));
}

absl::Status CheckAddressFlag(absl::string_view flag, absl::string_view address,
                              bool any_port) {
  const absl::Status checked = CheckAddress(address, any_port);
  if (checked.ok()) return checked;
  return BadFlag(flag, absl::StrCat("must be host:port; ", checked.message()));
}

absl::StatusOr<std::vector<std::string>> ReadAddressesFlag(
    absl::string_view flag, absl::string_view text) {
  auto addresses = SplitAddresses(text);
  if (!addresses.ok()) {
    return BadFlag(flag, absl::StrCat("must be host:port,...; ",
                                      addresses.status().message()));
  }
  if (addresses->empty()) return BadFlag(flag, "is required");
  return addresses;
}

absl::Status CheckIdFlag(absl::string_view flag, absl::string_view id) {
  const bool good =
      !id.empty() && id.size() <= kMaxIdBytes &&
      std::all_of(id.begin(), id.end(), [](char c) {
        return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
      });
  if (good) return absl::OkStatus();
  return BadFlag(flag, absl::StrCat("must be 1 to ", kMaxIdBytes,
                                    " letters, digits or -_."));
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
  config::ProgramConfig config(SectionOf(program));
  const auto refuse = [&program](absl::string_view why) {
    std::cerr << program.name << ": " << why << "\n";
    return kExitUsage;
  };
  if (!AsksForHelp(argc, argv)) {
    if (absl::Status loaded = config.Load(argc, argv); !loaded.ok()) {
      return refuse(loaded.message());
    }
  }
  ParseFlags(program.name, program.usage, kVersion, argc, argv);
  if (config::OnlyPrintsExample()) {
    std::cout << config::ExampleSection(SectionOf(program), program.example);
    return 0;
  }
  FLAGS_logtostderr = true;
  google::InitGoogleLogging(argv[0]);
  ExpectLackOfMemory();
  // Debian's Abseil looks for deadlocks at each lock; tests do that.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // Whoever reads the log may end before this process does.
  PCHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
  // A file beyond RLIMIT_FSIZE is an error then (EFBIG), and no death.
  PCHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
  if (absl::Status checked = program.check(); !checked.ok()) {
    return refuse(config.WithPlace(checked.message()));
  }
  if (config::OnlyChecks()) {
    std::cout << program.name << ": the configuration is right\n";
    return 0;
  }
  RaiseDescriptorLimit();
  const sigset_t signals = BlockSignals();
  int ended_by = 0;
  absl::Status served = program.serve([&] {
    while (sigwait(&signals, &ended_by) == 0 && ended_by == SIGHUP) {
      config.Reload(program.check);
    }
    TellServiceStops();
  });
  if (served.ok()) {
    LOG(INFO) << program.name << " has ended, asked to by "
              << sigabbrev_np(ended_by);
    return 0;
  }
  std::cerr << program.name << ": " << served.message() << "\n";
  return kExitFailure;
}

}  // namespace kamino::membership
