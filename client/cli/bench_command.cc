// bench: generates a load of one kind of call and reports the results.
#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "client/check.h"
#include "client/cli/cli.h"
#include "client/cli/interrupts.h"
#include "client/cli/new_files.h"
#include "client/cli/progress.h"
#include "client/cli/table.h"
#include "client/error.h"

namespace kamino::client {
namespace {

struct BenchOptions {
  std::string kind;  // "transfer", "put", "get"
  uint64_t count = 10000;
  int outstanding = 64;
  uint64_t accounts = 100;
  uint64_t balance = 1000;
  bool setup = false;
  std::string acked_log;
  uint64_t keys = 1000;
  bool in_order = false;
  bool any_replica = false;
  uint64_t value_size = 100;
};

constexpr uint64_t kMaxTransfer = 10;

std::string Account(uint64_t i) { return absl::StrFormat("bank/%06d", i); }
std::string BenchKey(uint64_t i) { return absl::StrFormat("bench/%08d", i); }

std::string CannotWrite(const std::string& path, int error) {
  return absl::StrCat("cannot write ", path, ": ", WhyNotWritten(error));
}

struct Tally {
  uint64_t ok = 0;
  uint64_t declined = 0;  // refused by the service, as the load expects
  uint64_t unknown = 0;   // outcome unknown
  uint64_t failed = 0;
  absl::Status first_failure;
  std::vector<absl::Duration> latencies;  // of ok and declined
  absl::Duration elapsed;

  uint64_t calls() const { return ok + declined + unknown + failed; }
};

// Whether the request itself was declined, which a load may expect. Any other
// refusal, such as by a cluster during a restore, is a failure.
bool IsDeclined(const absl::Status& status) {
  const kamino::v1::Reason reason = ReasonOf(status);
  return reason == kamino::v1::REASON_KEY_NOT_FOUND ||
         reason == kamino::v1::REASON_PROCEDURE_FAILED ||
         reason == kamino::v1::REASON_POISONOUS;
}

// Keeps a number of calls outstanding; each one that ends starts the next.
class Load {
 public:
  // `acked_log`: gets a line for each acknowledged transfer, if open.
  Load(Client* client, const BenchOptions& options, std::ofstream acked_log)
      : client_(client),
        options_(options),
        value_(options.value_size, 'x'),
        acked_log_(std::move(acked_log)),
        progress_("running", options.count) {}

  Tally Run(int outstanding) {
    const absl::Time begin = MonotonicNow();
    for (int i = 0; i < outstanding; ++i) Next();
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Load::Finished));
    tally_.elapsed = MonotonicNow() - begin;
    return tally_;
  }

 private:
  bool Finished() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return started_ == options_.count && ended_ == options_.count;
  }

  void Next() {
    uint64_t a, b, amount;
    {
      absl::MutexLock lock(&mutex_);
      if (Interrupts::Noted()) StopLocked();
      if (started_ == options_.count) return;
      const uint64_t number = started_++;
      const uint64_t range =
          options_.kind == "transfer" ? options_.accounts : options_.keys;
      a = absl::Uniform<uint64_t>(random_, 0, range);
      b = absl::Uniform<uint64_t>(random_, 0, range - 1);
      if (b >= a) ++b;
      if (options_.in_order) a = number % range;
      amount = absl::Uniform<uint64_t>(random_, 1, kMaxTransfer + 1);
    }
    if (options_.kind == "transfer") return Transfer(a, b, amount);
    if (options_.kind == "put") return Put(a);
    Get(a);
  }

  void Transfer(uint64_t from, uint64_t to, uint64_t amount) {
    kamino::v1::CallRequest request;
    request.set_procedure("bank.transfer");
    const std::string arguments =
        absl::StrCat(Account(from), " ", Account(to), " ", amount);
    request.set_arguments(arguments);
    client_->CallAsync(
        std::move(request), [this, arguments, begin = MonotonicNow()](
                                absl::StatusOr<kamino::v1::CallResponse> done) {
          const uint64_t version = done.ok() ? done->header().sequence() : 0;
          End(done.status(), begin,
              absl::StrCat(arguments, " ", version, "\n"));
        });
  }

  void Put(uint64_t key) {
    kamino::v1::PutRequest request;
    request.set_key(BenchKey(key));
    request.set_value(value_);
    client_->PutAsync(std::move(request),
                      [this, begin = MonotonicNow()](const auto& done) {
                        End(done.status(), begin, "");
                      });
  }

  void Get(uint64_t key) {
    kamino::v1::GetRequest request;
    request.set_key(BenchKey(key));
    client_->GetAsync(std::move(request),
                      [this, begin = MonotonicNow()](const auto& done) {
                        End(done.status(), begin, "");
                      });
  }

  void End(const absl::Status& status, absl::Time begin,
           const std::string& acked) {
    {
      absl::MutexLock lock(&mutex_);
      const absl::Duration latency = MonotonicNow() - begin;
      if (status.ok()) {
        ++tally_.ok;
        tally_.latencies.push_back(latency);
        if (acked_log_.is_open() && !(acked_log_ << acked << std::flush)) {
          LogFailed(errno);
        }
      } else if (IsDeclined(status)) {
        ++tally_.declined;
        tally_.latencies.push_back(latency);
      } else {
        ++(ReasonOf(status) == kamino::v1::REASON_OUTCOME_UNKNOWN
               ? tally_.unknown
               : tally_.failed);
        if (tally_.first_failure.ok()) tally_.first_failure = status;
        if (AreOfDifferentClusters(status)) StopLocked();
      }
      progress_.Show(tally_.calls());
    }
    Next();
    // Last: Run may return after it.
    absl::MutexLock lock(&mutex_);
    ++ended_;
  }

  void StopLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ended_ += options_.count - started_;
    started_ = options_.count;
  }

  // Stops the load, because a log without some acknowledged calls is
  // misleading.
  void LogFailed(int error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    acked_log_.close();
    StopLocked();
    if (!tally_.first_failure.ok()) return;
    tally_.first_failure =
        absl::FailedPreconditionError(CannotWrite(options_.acked_log, error));
  }

  Client* const client_;
  const BenchOptions options_;
  const std::string value_;

  absl::Mutex mutex_;
  absl::BitGen random_ ABSL_GUARDED_BY(mutex_);
  uint64_t started_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t ended_ ABSL_GUARDED_BY(mutex_) = 0;
  Tally tally_ ABSL_GUARDED_BY(mutex_);
  std::ofstream acked_log_ ABSL_GUARDED_BY(mutex_);
  Progress progress_ ABSL_GUARDED_BY(mutex_);
};

double Millis(const std::vector<absl::Duration>& sorted, double quantile) {
  if (sorted.empty()) return 0;
  const size_t at = std::min(sorted.size() - 1,
                             static_cast<size_t>(sorted.size() * quantile));
  return absl::ToDoubleMilliseconds(sorted[at]);
}

void Print(const Cli& cli, const std::string& kind, Tally tally) {
  std::sort(tally.latencies.begin(), tally.latencies.end());
  const double seconds = absl::ToDoubleSeconds(tally.elapsed);
  const double rate = tally.latencies.size() / std::max(seconds, 1e-9);
  const double p50 = Millis(tally.latencies, 0.5);
  const double p99 = Millis(tally.latencies, 0.99);
  const double most = Millis(tally.latencies, 1);
  if (cli.json()) {
    std::cout << absl::StrFormat(
        "{\"load\": \"%s\", \"ok\": %d, \"declined\": %d, \"unknown\": %d, "
        "\"failed\": %d, \"seconds\": %.3f, \"per_second\": %.1f, "
        "\"p50_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f}\n",
        kind, tally.ok, tally.declined, tally.unknown, tally.failed, seconds,
        rate, p50, p99, most);
    return;
  }
  std::cout << FormatTable(
      {{"LOAD", "OK", "DECLINED", "UNKNOWN", "FAILED", "SECONDS", "PER SECOND",
        "P50 MS", "P99 MS", "MAX MS"},
       {kind, absl::StrCat(tally.ok), absl::StrCat(tally.declined),
        absl::StrCat(tally.unknown), absl::StrCat(tally.failed),
        absl::StrFormat("%.2f", seconds), absl::StrFormat("%.0f", rate),
        absl::StrFormat("%.3f", p50), absl::StrFormat("%.3f", p99),
        absl::StrFormat("%.3f", most)}});
}

void PrintReplicaReads(const Client& client) {
  const Client::ReplicaReads reads = client.replica_reads();
  std::cout << absl::StrCat(
      reads.answered,
      " answered by nodes other than the tail; the tail answered instead ",
      reads.not_clean, " times because the object was being changed, and ",
      reads.failed, " times because a node did not answer\n");
}

// Accounts per commit: few enough for the intent log of a small heap.
constexpr int kAccountsPerCommit = 100;

absl::Status SetUp(Client* client, const BenchOptions& options) {
  const uint64_t accounts = options.accounts;
  for (uint64_t next = 0; next < accounts;) {
    kamino::v1::CommitRequest request;
    for (;
         next < accounts && request.then_operations_size() < kAccountsPerCommit;
         ++next) {
      auto* put = request.add_then_operations()->mutable_put();
      put->set_key(Account(next));
      put->set_value(absl::StrCat(options.balance));
    }
    RETURN_IF_ERROR(client->Commit(std::move(request)).status());
  }
  return absl::OkStatus();
}

// Otherwise every transfer would be declined at once.
absl::Status CheckAccounts(Client* client, uint64_t accounts) {
  auto last = client->Get(Account(accounts - 1));
  if (!absl::IsNotFound(last.status())) return last.status();
  return absl::FailedPreconditionError(absl::StrCat(
      "there are no ", accounts,
      " accounts; kamino bench transfer --setup --accounts=", accounts,
      " makes them"));
}

int RunBench(Cli& cli, const BenchOptions& options) {
  std::ofstream acked_log;
  if (!options.acked_log.empty()) {
    acked_log.open(options.acked_log, std::ios::app);
    if (!acked_log) {
      return cli.FailUsage(CannotWrite(options.acked_log, errno));
    }
  }
  if (options.any_replica) cli.ReadAtAnyReplica();
  auto client = cli.Connect();
  if (!client.ok()) return cli.Fail(client.status());
  if (options.kind == "transfer") {
    absl::Status ready = options.setup
                             ? SetUp(*client, options)
                             : CheckAccounts(*client, options.accounts);
    if (!ready.ok()) return cli.Fail(ready);
  }
  const Interrupts interrupts;
  Load load(*client, options, std::move(acked_log));
  const Tally tally = load.Run(options.outstanding);
  if (Interrupts::Noted()) {
    std::cerr << absl::StrCat("interrupted after ", tally.calls(), " of ",
                              options.count, " calls\n");
  }
  Print(cli, options.kind, tally);
  if (options.any_replica && !cli.json()) PrintReplicaReads(**client);
  return tally.first_failure.ok() ? kExitOk : cli.Fail(tally.first_failure);
}

void AddNumber(CLI::App* app, const std::string& name, uint64_t* number,
               const std::string& description, uint64_t least, uint64_t most) {
  app->add_option(name, *number, description)
      ->type_name("N")
      ->transform(Decimal())
      ->check(CLI::Range(least, most));
}

CLI::App* AddLoad(CLI::App* bench, Cli* cli, const std::string& kind,
                  const std::string& description, const std::string& examples,
                  const std::shared_ptr<BenchOptions>& options) {
  CLI::App* load = AddCommand(bench, cli, kind, description, examples);
  AddNumber(load, "--count", &options->count,
            "Calls to make; 10000 by default.", 0, UINT64_MAX);
  load->add_option("--outstanding", options->outstanding,
                   "Calls under way at once; 64 by default.")
      ->type_name("N")
      ->transform(Decimal())
      ->check(CLI::Range(1, ClientOptions().max_outstanding));
  load->callback([=] {
    options->kind = kind;
    cli->run = [=] { return RunBench(*cli, *options); };
  });
  return load;
}

void AddKeys(CLI::App* load, BenchOptions* options) {
  AddNumber(load, "--keys", &options->keys, "Number of keys; 1000 by default.",
            2, UINT64_MAX);
  load->add_flag("--in_order", options->in_order,
                 "Uses the keys in order instead of at random.");
}

}  // namespace

void AddBenchCommand(CLI::App* app, Cli* cli) {
  CLI::App* bench = app->add_subcommand(
      "bench", "Makes many calls of one kind and measures them.");
  AddSettings(bench, &cli->settings());
  bench->require_subcommand(1);
  auto options = std::make_shared<BenchOptions>();
  CLI::App* transfer =
      AddLoad(bench, cli, "transfer",
              "Transfers money between accounts with a procedure.",
              "  kamino bench transfer --setup --accounts=1000 --count=100000",
              options);
  AddNumber(transfer, "--accounts", &options->accounts,
            "Number of accounts; 100 by default.", 2, UINT64_MAX);
  AddNumber(transfer, "--balance", &options->balance,
            "Initial balance of each account with --setup; 1000 by default.", 0,
            UINT64_MAX);
  transfer->add_flag("--setup", options->setup, "Make the accounts first.");
  transfer
      ->add_option("--acked_log", options->acked_log,
                   "Add each acknowledged transfer to this file, a line "
                   "\"FROM TO AMOUNT VERSION\".")
      ->type_name("FILE");
  CLI::App* put = AddLoad(bench, cli, "put", "Writes of whole objects.",
                          "  kamino bench put --value_size=1024", options);
  AddKeys(put, options.get());
  AddNumber(put, "--value_size", &options->value_size,
            "Bytes of a value; 100 by default.", 0, kMaxValueBytes);
  CLI::App* get = AddLoad(bench, cli, "get",
                          "Reads of the keys that put wrote; reads of other "
                          "keys count as DECLINED.",
                          "  kamino bench get --outstanding=1", options);
  AddKeys(get, options.get());
  get->add_flag("--any_replica", options->any_replica,
                "Ask all nodes but the head in turn, and the tail where one "
                "cannot tell.");
}

}  // namespace kamino::client
