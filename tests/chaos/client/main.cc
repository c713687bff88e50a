// A client under chaos: some logical processes that call the service through
// the client library and write down what they called and what they got.
//
// Ends on SIGTERM: the calls under way end, everything is read once more.
// Exit codes: 0, 1 when the last reads fail or there is nothing to connect to,
// 2 for bad flags.
#include <signal.h>

#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "tests/chaos/client/workload.h"

ABSL_FLAG(std::string, seeds, "", "host:port,... of nodes.");
ABSL_FLAG(std::string, workload, "", "registers, bank or lists.");
ABSL_FLAG(std::string, history, "", "File for the history.");
ABSL_FLAG(int, client, 0, "Which of --clients this one is, from 0.");
ABSL_FLAG(int, clients, 1, "Clients that do the same to the same objects.");
ABSL_FLAG(int, processes, 3, "Logical processes, each with one call at most.");
ABSL_FLAG(double, rate, 60, "Calls a second of each; 0: as many as can be.");
ABSL_FLAG(absl::Duration, timeout, absl::Seconds(5), "Of a call.");
ABSL_FLAG(absl::Duration, patience, absl::Seconds(30),
          "Of the last reads, which must be answered.");

namespace kamino::chaos {
namespace {

using client::Client;
using client::ClientOptions;

// A Notification is waited for with a time-out: a pause that SIGTERM cuts
// short.
void RunProcess(Workload* workload, Process process,
                const absl::Notification* stop) {
  absl::BitGen random;
  const double rate = absl::GetFlag(FLAGS_rate);
  while (!stop->HasBeenNotified()) {
    workload->Step(&process, random);
    if (rate > 0) {
      stop->WaitForNotificationWithTimeout(
          absl::Seconds(absl::Exponential<double>(random, rate)));
    }
  }
}

MakeWorkload* FindWorkload(const std::string& name) {
  if (name == "registers") return &MakeRegisters;
  if (name == "bank") return &MakeBank;
  if (name == "lists") return &MakeLists;
  return nullptr;
}

int Main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  // Before any thread starts: threads inherit the mask, so sigwait gets the
  // signal.
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  const bool lists = absl::GetFlag(FLAGS_workload) == "lists";
  HistoryLog log(
      absl::GetFlag(FLAGS_history),
      lists ? HistoryLog::Dialect::kElle : HistoryLog::Dialect::kEvents);
  ClientOptions options;
  options.insecure = true;
  options.seeds =
      absl::StrSplit(absl::GetFlag(FLAGS_seeds), ',', absl::SkipEmpty());
  options.timeout = absl::GetFlag(FLAGS_timeout);
  auto client = Client::Connect(options);
  if (!client.ok()) {
    std::cerr << "chaos_client: " << client.status().message() << "\n";
    return 1;
  }
  const Place place = {absl::GetFlag(FLAGS_client),
                       absl::GetFlag(FLAGS_clients)};
  const int processes = absl::GetFlag(FLAGS_processes);
  MakeWorkload* const make = FindWorkload(absl::GetFlag(FLAGS_workload));
  if (make == nullptr || !log.ok() || processes < 1 || place.client < 0 ||
      place.client >= place.clients) {
    std::cerr << "chaos_client: bad --workload, --history, --processes, "
                 "--client or --clients\n";
    return 2;
  }
  const std::unique_ptr<Workload> workload = make(client->get(), &log, place);
  absl::Notification stop;
  std::vector<std::thread> threads;
  // One id more than there are processes is for the last reads.
  const int ids = processes + 1;
  const int first = place.client * ids;
  const int step = place.clients * ids;
  for (int i = 0; i < processes; ++i) {
    threads.emplace_back(RunProcess, workload.get(), Process{first + i, step},
                         &stop);
  }
  int signal = 0;
  sigwait(&ends, &signal);
  stop.Notify();
  for (std::thread& thread : threads) thread.join();

  Process last{first + processes, step};
  const absl::Time deadline = absl::Now() + absl::GetFlag(FLAGS_patience);
  absl::Status read;
  do {
    read = workload->ReadAll(&last);
  } while (!read.ok() && absl::Now() < deadline);
  if (!read.ok()) std::cerr << "chaos_client: " << read.message() << "\n";
  return read.ok() ? 0 : 1;
}

}  // namespace
}  // namespace kamino::chaos

int main(int argc, char** argv) { return kamino::chaos::Main(argc, argv); }
