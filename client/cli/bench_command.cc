// bench: a load of one kind of call, and what it got.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/check.h"
#include "client/cli/cli.h"
#include "client/cli/table.h"
#include "client/error.h"

ABSL_FLAG(uint64_t, count, 10000, "bench: calls to make.");
ABSL_FLAG(uint64_t, accounts, 100, "bench transfer: number of accounts.");
ABSL_FLAG(uint64_t, balance, 1000,
          "bench transfer --setup: what each account begins with.");
ABSL_FLAG(bool, setup, false, "bench transfer: make the accounts first.");
ABSL_FLAG(uint64_t, keys, 1000, "bench put, get: number of keys.");
ABSL_FLAG(bool, in_order, false,
          "bench put, get: one key after the other, rather than at random.");
ABSL_FLAG(uint64_t, value_size, 100, "bench put: bytes of a value.");
ABSL_FLAG(std::string, acked_log, "",
          "bench transfer: write each acknowledged transfer to this file, a "
          "line \"FROM TO AMOUNT VERSION\".");

namespace kamino::client {
namespace {

constexpr char kUsage[] =
    "bench transfer|put|get [--count=N] [--outstanding=N] [--accounts=N "
    "[--setup --balance=N] [--acked_log=FILE]] [--keys=N] [--in_order] "
    "[--value_size=N]";
constexpr uint64_t kMaxTransfer = 10;

std::string Account(uint64_t i) { return absl::StrFormat("bank/%06d", i); }
std::string BenchKey(uint64_t i) { return absl::StrFormat("bench/%08d", i); }

struct Tally {
  uint64_t ok = 0;
  uint64_t declined = 0;  // the service said no, as the load expects it to
  uint64_t unknown = 0;   // outcome unknown
  uint64_t failed = 0;
  absl::Status first_failure;
  std::vector<absl::Duration> latencies;  // of ok and declined
  absl::Duration elapsed;
};

// Keeps a number of calls under way; each one that ends starts the next.
class Load {
 public:
  Load(Client* client, std::string kind, uint64_t count)
      : client_(client),
        kind_(std::move(kind)),
        count_(count),
        accounts_(absl::GetFlag(FLAGS_accounts)),
        keys_(absl::GetFlag(FLAGS_keys)),
        in_order_(absl::GetFlag(FLAGS_in_order)),
        value_(absl::GetFlag(FLAGS_value_size), 'x'),
        progress_("running", count) {
    const std::string path = absl::GetFlag(FLAGS_acked_log);
    if (!path.empty()) acked_log_.open(path, std::ios::app);
  }

  Tally Run(int outstanding) {
    const absl::Time begin = absl::Now();
    for (int i = 0; i < outstanding; ++i) Next();
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Load::Finished));
    tally_.elapsed = absl::Now() - begin;
    return tally_;
  }

 private:
  bool Finished() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return started_ == count_ && ended_ == count_;
  }

  void Next() {
    uint64_t a, b, amount;
    {
      absl::MutexLock lock(&mutex_);
      if (started_ == count_) return;
      const uint64_t number = started_++;
      const uint64_t range = kind_ == "transfer" ? accounts_ : keys_;
      a = absl::Uniform<uint64_t>(random_, 0, range);
      b = absl::Uniform<uint64_t>(random_, 0, range - 1);
      if (b >= a) ++b;
      if (in_order_) a = number % range;
      amount = absl::Uniform<uint64_t>(random_, 1, kMaxTransfer + 1);
    }
    if (kind_ == "transfer") return Transfer(a, b, amount);
    if (kind_ == "put") return Put(a);
    Get(a);
  }

  void Transfer(uint64_t from, uint64_t to, uint64_t amount) {
    kamino::v1::CallRequest request;
    request.set_procedure("bank.transfer");
    const std::string arguments =
        absl::StrCat(Account(from), " ", Account(to), " ", amount);
    request.set_arguments(arguments);
    client_->CallAsync(
        std::move(request), [this, arguments, begin = absl::Now()](
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
                      [this, begin = absl::Now()](const auto& done) {
                        End(done.status(), begin, "");
                      });
  }

  void Get(uint64_t key) {
    kamino::v1::GetRequest request;
    request.set_key(BenchKey(key));
    client_->GetAsync(std::move(request),
                      [this, begin = absl::Now()](const auto& done) {
                        End(done.status(), begin, "");
                      });
  }

  void End(const absl::Status& status, absl::Time begin,
           const std::string& acked) {
    {
      absl::MutexLock lock(&mutex_);
      const absl::Duration latency = absl::Now() - begin;
      if (status.ok()) {
        ++tally_.ok;
        tally_.latencies.push_back(latency);
        if (acked_log_.is_open()) acked_log_ << acked << std::flush;
      } else if (absl::IsFailedPrecondition(status) ||
                 absl::IsNotFound(status)) {
        ++tally_.declined;
        tally_.latencies.push_back(latency);
      } else {
        ++(ReasonOf(status) == kamino::v1::REASON_OUTCOME_UNKNOWN
               ? tally_.unknown
               : tally_.failed);
        if (tally_.first_failure.ok()) tally_.first_failure = status;
      }
      progress_.Show(ended_ + 1);
    }
    Next();
    // Last: Run may return after it.
    absl::MutexLock lock(&mutex_);
    ++ended_;
  }

  Client* const client_;
  const std::string kind_;
  const uint64_t count_;
  const uint64_t accounts_;
  const uint64_t keys_;
  const bool in_order_;
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
  if (cli.json) {
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

// Accounts to a commit: small enough for the intent log of a small heap.
constexpr int kAccountsPerCommit = 100;

absl::Status SetUp(Client* client) {
  const uint64_t accounts = absl::GetFlag(FLAGS_accounts);
  for (uint64_t next = 0; next < accounts;) {
    kamino::v1::CommitRequest request;
    for (;
         next < accounts && request.then_operations_size() < kAccountsPerCommit;
         ++next) {
      auto* put = request.add_then_operations()->mutable_put();
      put->set_key(Account(next));
      put->set_value(absl::StrCat(absl::GetFlag(FLAGS_balance)));
    }
    auto made = client->Commit(std::move(request));
    if (!made.ok()) return made.status();
  }
  return absl::OkStatus();
}

}  // namespace

int RunBench(const Cli& cli, const Words& words) {
  const bool known =
      words.size() == 1 &&
      (words[0] == "transfer" || words[0] == "put" || words[0] == "get");
  if (!known || absl::GetFlag(FLAGS_accounts) < 2 ||
      absl::GetFlag(FLAGS_keys) < 2) {
    return FailUsage(kUsage);
  }
  if (absl::GetFlag(FLAGS_value_size) > kMaxValueBytes) {
    return FailUsage(
        absl::StrCat("--value_size: at most ", kMaxValueBytes, " bytes"));
  }
  const absl::StatusOr<int> outstanding = Outstanding();
  if (!outstanding.ok()) return FailUsage(outstanding.status().message());
  if (words[0] == "transfer" && absl::GetFlag(FLAGS_setup)) {
    if (absl::Status made = SetUp(cli.client); !made.ok()) return Fail(made);
  }
  Load load(cli.client, words[0], absl::GetFlag(FLAGS_count));
  const Tally tally = load.Run(*outstanding);
  Print(cli, words[0], tally);
  return tally.first_failure.ok() ? kExitOk : Fail(tally.first_failure);
}

}  // namespace kamino::client
