#include "server/server_program.h"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <set>

#include "absl/flags/reflection.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "base/address.h"
#include "base/ids.h"
#include "base/own_addresses.h"
#include "base/parse_flags.h"
#include "base/service_manager.h"
#include "base/standard_files.h"
#include "base/status_macros.h"
#include "config/example.h"
#include "config/program_config.h"
#include "config/reload.h"
#include "config/typed_flags.h"
#include "glog/logging.h"
#include "logs/log.h"
#include "proto/version.h"
#include "rpc/grpc_log.h"

namespace kamino::server {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

// Shells set 1024 by default, even if the process may have more.
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  PLOG_IF(WARNING, setrlimit(RLIMIT_NOFILE, &limit) != 0)
      << "cannot have " << limit.rlim_max << " descriptors";
}

// The program's section in a configuration file.
std::string SectionOf(const ServerProgram& program) {
  return std::string(absl::StripPrefix(program.name, "kamino_"));
}

// The value of a flag that not every program has.
std::string ValueOf(absl::string_view flag) {
  const absl::CommandLineFlag* found = absl::FindCommandLineFlag(flag);
  return found == nullptr ? "" : found->CurrentValue();
}

// Reports a mistake on the command line or in the file.
int Refuse(const ServerProgram& program, const config::ProgramConfig& config,
           const absl::Status& why) {
  const std::string line =
      absl::StrCat(program.name, ": ", config.WithPlace(why.message()));
  if (logs::LogsJson()) {
    logs::SayLast(google::GLOG_ERROR, line);
  } else {
    logs::SayLastPlainly(line);
  }
  return kExitUsage;
}

const std::vector<std::string>& TrustFlags() {
  static const auto* const flags =
      new std::vector<std::string>{"tls_cert", "tls_key", "tls_ca"};
  return *flags;
}

bool NamesCertificates() {
  return std::any_of(
      TrustFlags().begin(), TrustFlags().end(),
      [](const std::string& flag) { return !ValueOf(flag).empty(); });
}

// Sets a flag that has no value yet; false: it has one, or does not exist.
bool FillIn(const std::string& name, const std::string& text) {
  absl::CommandLineFlag* const flag = absl::FindCommandLineFlag(name);
  std::string error;
  return flag != nullptr && flag->CurrentValue() == flag->DefaultValue() &&
         flag->ParseFrom(text, &error);
}

// Sets required flags without a value, and returns their names.
std::set<std::string> FillInRequired(const ServerProgram& program) {
  std::map<std::string, std::string> required = program.example;
  if (NamesCertificates()) {
    for (const std::string& flag : TrustFlags()) required[flag] = "typed.pem";
    required.insert(program.with_certificates.begin(),
                    program.with_certificates.end());
  }
  std::set<std::string> filled;
  for (const auto& [name, text] : required) {
    if (ValueOf(name).empty() && FillIn(name, text)) filled.insert("--" + name);
  }
  return filled;
}

// Adds the flags that the file's values require, one at a time while something
// is missing, and keeps each one that was needed.
absl::Status CheckFilledIn(const std::function<absl::Status()>& check,
                           std::set<std::string>* filled) {
  struct Typed {
    const char* flag;
    const char* text;
    const char* told;
  };
  const bool certificates = NamesCertificates();
  const Typed trust =
      certificates
          ? Typed{"etcd_tls_ca", "typed.pem", "--etcd_tls_ca"}
          : Typed{"insecure", "true", "certificates (--tls_...) or --insecure"};
  const Typed all[] = {trust,
                       {"advertise", "192.0.2.1:1", "--advertise"},
                       {"link_listen", "192.0.2.1:0", "--link_listen"}};
  absl::Status checked = check();
  // The error does not name the missing flag, so each is tried until the error
  // changes.
  for (bool gave_way = true; gave_way && !checked.ok();) {
    gave_way = false;
    for (const Typed& typed : all) {
      const std::string before = ValueOf(typed.flag);
      if (!FillIn(typed.flag, typed.text)) continue;
      absl::Status again = check();
      if (again == checked) {
        std::string error;
        absl::FindCommandLineFlag(typed.flag)->ParseFrom(before, &error);
        continue;
      }
      checked = std::move(again);
      filled->insert(typed.told);
      gave_way = true;
      break;
    }
  }
  return checked;
}

// For --check_config_file.
int CheckFile(const ServerProgram& program, const config::ProgramConfig& config,
              const std::function<absl::Status()>& check) {
  if (config.path().empty()) {
    return Refuse(program, config,
                  BadFlag("check_config_file", "needs --config=FILE"));
  }
  std::set<std::string> filled = FillInRequired(program);
  const absl::Status checked = CheckFilledIn(check, &filled);
  if (!checked.ok()) return Refuse(program, config, checked);
  std::cout << program.name << ": values are right"
            << (filled.empty() ? ""
                               : "; its command line must give " +
                                     absl::StrJoin(filled, ", "))
            << "\n";
  return ExitCodeAfterOutput(0);
}

// Whether a flag's value turned out invalid only when it was used.
bool IsBadFlag(const absl::Status& status) {
  return absl::IsInvalidArgument(status) &&
         absl::StartsWith(status.message(), "--");
}

void SetUpProcess() {
  // Debian's Abseil looks for deadlocks at each lock; tests do that.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // The reader of the log may end before this process.
  PCHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
  // Writing beyond RLIMIT_FSIZE then returns EFBIG instead of killing the
  // process.
  PCHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
  RaiseDescriptorLimit();
}

sigset_t SignalSet() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  return signals;
}

// Blocks the signals that RunServer waits for.
sigset_t BlockSignals() {
  const sigset_t signals = SignalSet();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// The signal that ended the start of the program, which is then no error; 0:
// none did.
int EndedBeforeServing(absl::Status* served) {
  const int signal = absl::IsCancelled(*served) ? PendingEndSignal() : 0;
  if (signal == 0) return 0;
  LOG(INFO) << "ended before it served: " << served->message();
  *served = absl::OkStatus();
  return signal;
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

absl::Status CheckListeners(const std::vector<Listener>& listeners) {
  std::map<std::pair<std::string, uint16_t>, std::string> taken;
  for (const auto& [flag, address] : listeners) {
    ASSIGN_OR_RETURN(const HostPort parsed, ParseAddress(address));
    if (parsed.port == 0) continue;
    const auto [found, added] = taken.try_emplace(
        {absl::AsciiStrToLower(parsed.host), parsed.port}, flag);
    if (added) continue;
    return BadFlag(flag,
                   absl::StrCat("is ", address, ", which --", found->second,
                                " listens on; name another port"));
  }
  return absl::OkStatus();
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
  if (IsId(id)) return absl::OkStatus();
  if (id.empty()) {
    return BadFlag(flag, absl::StrCat("is required, ", kIdRule,
                                      " (--help lists all flags)"));
  }
  return BadFlag(flag, absl::StrCat("must be ", kIdRule, ", not \"",
                                    absl::CHexEscape(id), "\""));
}

bool IsReachable(absl::string_view address) {
  const auto parsed = ParseAddress(address);
  return parsed.ok() && !IsEveryAddress(parsed->host);
}

bool IsAskedAgainToEnd(absl::Duration within) {
  const sigset_t signals = SignalSet();
  const timespec wait = absl::ToTimespec(within);
  const int number = sigtimedwait(&signals, nullptr, &wait);
  return number == SIGTERM || number == SIGINT;
}

int RunServer(const ServerProgram& program, int argc, char** argv) {
  OccupyStandardFiles();
  config::ProgramConfig config(SectionOf(program));
  absl::Status loaded;
  if (!AsksForHelp(argc, argv)) {
    loaded = config.Load(argc, argv);
    const absl::Status typed = config::SetTypedFlags(argc, argv);
    if (!typed.ok()) return Refuse(program, config, typed);
  }
  ParseFlags(program.name, program.usage, kVersion, argc, argv);
  if (config::OnlyPrintsExample()) {
    std::cout << config::ExampleSection(SectionOf(program), program.example);
    return ExitCodeAfterOutput(0);
  }
  if (loaded.ok()) loaded = logs::CheckLogFlags();
  if (!loaded.ok()) return Refuse(program, config, loaded);
  const auto check = [&program]() -> absl::Status {
    RETURN_IF_ERROR(logs::CheckLogFlags());
    return program.check();
  };
  if (config::OnlyChecksFile()) return CheckFile(program, config, check);
  if (config::OnlyChecks()) {
    absl::Status checked = check();
    if (checked.ok()) checked = program.check_machine();
    if (checked.ok()) checked = program.check_files();
    if (!checked.ok()) return Refuse(program, config, checked);
    for (const std::string& warning : program.warnings()) {
      std::cerr << program.name << ": warning: " << warning << "\n";
    }
    std::cout << program.name << ": the configuration is right\n";
    return ExitCodeAfterOutput(0);
  }
  logs::StartLogging(argv[0],
                     {program.name, ValueOf("cluster_id"), ValueOf("node_id")});
  rpc::LogWhatLibrariesSay();
  SetUpProcess();
  absl::Status checked = check();
  if (checked.ok()) checked = program.check_machine();
  if (!checked.ok()) return Refuse(program, config, checked);
  for (const std::string& warning : program.warnings()) LOG(WARNING) << warning;
  const auto level = config::Reloads::Get().Add({"the log", {"log_level"}, [] {
                                                   logs::AdoptLogLevel();
                                                   return absl::OkStatus();
                                                 }});
  const sigset_t signals = BlockSignals();
  int ended_by = 0;
  absl::Status served = program.serve([&] {
    while (sigwait(&signals, &ended_by) == 0 && ended_by == SIGHUP) {
      config.Reload(check);
    }
    TellServiceStops();
  });
  if (ended_by == 0) ended_by = EndedBeforeServing(&served);
  if (!served.ok()) {
    if (IsBadFlag(served)) return Refuse(program, config, served);
    logs::SayLast(google::GLOG_ERROR,
                  absl::StrCat(program.name, ": ", served.message()));
    return kExitFailure;
  }
  logs::SayLast(google::GLOG_INFO,
                absl::StrCat(program.name, " has ended after signal ",
                             sigabbrev_np(ended_by)));
  return 0;
}

}  // namespace kamino::server
