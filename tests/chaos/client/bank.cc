// Banks of a few accounts: transfers by the service's procedure and by
// transactions of the client's own, and reads of all accounts at one moment.
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/client.h"
#include "client/error.h"
#include "client/transaction.h"
#include "tests/chaos/client/generations.h"
#include "tests/chaos/client/workload.h"

namespace kamino::chaos {
namespace {

constexpr int kBanks = 2;
constexpr int kAccounts = 4;
constexpr int kOpening = 100;
constexpr int kMaxAmount = 60;  // large enough that some are declined
constexpr absl::Duration kLasts = absl::Seconds(6);

struct Transfer {
  std::string bank;
  int from;
  int to;
  int amount;
};

std::string Account(const std::string& bank, int i) {
  return absl::StrCat(bank, "/", i);
}

std::string Balances(const std::vector<int64_t>& balances) {
  return absl::StrCat("\"balances\":[", absl::StrJoin(balances, ","), "]");
}

class Bank : public Workload {
 public:
  Bank(client::Client* client, HistoryLog* log) : client_(client), log_(log) {}

  void Step(Process* process, absl::BitGen& random) override {
    Transfer transfer;
    transfer.bank = names_.Use(absl::Uniform(random, 0, names_.slots()));
    if (!Opened(process, transfer.bank)) return;
    transfer.from = absl::Uniform(random, 0, kAccounts);
    transfer.to = absl::Uniform(random, 0, kAccounts - 1);
    if (transfer.to >= transfer.from) ++transfer.to;
    transfer.amount = absl::Uniform(random, 1, kMaxAmount + 1);
    const int dice = absl::Uniform(random, 0, 100);
    if (dice < 40) {
      ByProcedure(process, transfer);
    } else if (dice < 70) {
      ByTransaction(process, transfer);
    } else {
      Read(process, transfer.bank);
    }
  }

  absl::Status ReadAll(Process* process) override {
    for (const std::string& bank : names_.All()) {
      if (Read(process, bank) != End::kOk) {
        return absl::UnavailableError(absl::StrCat("cannot read ", bank));
      }
    }
    return absl::OkStatus();
  }

 private:
  static std::string Fields(absl::string_view operation,
                            const std::string& bank) {
    return absl::StrCat("\"op\":\"", operation, "\",\"bank\":", Quoted(bank));
  }
  static std::string Fields(absl::string_view operation,
                            const Transfer& transfer) {
    return absl::StrCat(Fields(operation, transfer.bank),
                        ",\"from\":", transfer.from, ",\"to\":", transfer.to,
                        ",\"amount\":", transfer.amount);
  }

  // Whether the bank is open: the first process of each client opens it unless
  // it is; until that is acknowledged the others keep away.
  bool Opened(Process* process, const std::string& bank) {
    {
      absl::MutexLock lock(&mutex_);
      if (!begun_.insert(bank).second) return open_.count(bank) > 0;
    }
    kamino::v1::CommitRequest request;
    auto* absent = request.add_preconditions();
    absent->set_key(Account(bank, 0));
    absent->set_exists(false);
    for (int i = 0; i < kAccounts; ++i) {
      auto* put = request.add_then_operations()->mutable_put();
      put->set_key(Account(bank, i));
      put->set_value(absl::StrCat(kOpening));
    }
    log_->Call(
        *process,
        absl::StrCat(Fields("open", bank), ",",
                     Balances(std::vector<int64_t>(kAccounts, kOpening))));
    auto done = client_->Commit(std::move(request));
    const End end = EndOf(done.status());
    const bool first = done.ok() && done->succeeded();
    log_->Return(process, end, first ? "\"done\":true" : "\"done\":false");
    if (end != End::kOk) return false;
    absl::MutexLock lock(&mutex_);
    return open_.insert(bank).second;
  }

  void ByProcedure(Process* process, const Transfer& transfer) {
    log_->Call(*process, Fields("transfer", transfer));
    auto done = client_->Call(
        "bank.transfer", absl::StrCat(Account(transfer.bank, transfer.from),
                                      " ", Account(transfer.bank, transfer.to),
                                      " ", transfer.amount));
    std::vector<int64_t> balances;
    if (done.ok()) {
      for (absl::string_view part : absl::StrSplit(done->result(), ' ')) {
        int64_t balance = -1;  // what cannot be read matches no model
        if (!absl::SimpleAtoi(part, &balance)) balance = -1;
        balances.push_back(balance);
      }
    }
    const bool poor =
        client::ReasonOf(done.status()) == kamino::v1::REASON_PROCEDURE_FAILED;
    Return(process, done.status(), poor, balances);
  }

  void ByTransaction(Process* process, const Transfer& transfer) {
    log_->Call(*process, Fields("move", transfer));
    std::vector<int64_t> balances;
    bool poor = false;
    const absl::Status done = client_->RunTransaction(
        [&](client::Transaction& transaction) -> absl::Status {
          poor = false;
          balances.clear();
          for (const int account : {transfer.from, transfer.to}) {
            auto value = transaction.Get(Account(transfer.bank, account));
            if (!value.ok()) return value.status();
            int64_t balance = -1;
            if (!value->has_value() || !absl::SimpleAtoi(**value, &balance)) {
              balance = -1;
            }
            balances.push_back(balance);
          }
          if (balances[0] < transfer.amount) {
            poor = true;
            return absl::FailedPreconditionError("too poor");
          }
          balances[0] -= transfer.amount;
          balances[1] += transfer.amount;
          transaction.Put(Account(transfer.bank, transfer.from),
                          absl::StrCat(balances[0]));
          transaction.Put(Account(transfer.bank, transfer.to),
                          absl::StrCat(balances[1]));
          return absl::OkStatus();
        });
    // The commit that makes sure of a refusal may itself have failed.
    poor = poor && absl::IsFailedPrecondition(done) &&
           client::ReasonOf(done) == kamino::v1::REASON_UNSPECIFIED;
    Return(process, done, poor, balances);
  }

  void Return(Process* process, const absl::Status& status, bool poor,
              const std::vector<int64_t>& balances) {
    const End end = poor ? End::kOk : EndOf(status);
    std::string fields;
    if (poor) fields = "\"done\":false";
    if (status.ok())
      fields = absl::StrCat("\"done\":true,", Balances(balances));
    log_->Return(process, end, fields);
  }

  End Read(Process* process, const std::string& bank) {
    std::vector<std::string> keys;
    for (int i = 0; i < kAccounts; ++i) keys.push_back(Account(bank, i));
    log_->Call(*process, Fields("read", bank));
    auto got = client_->BatchGet(keys);
    if (!got.ok()) {
      log_->Return(process, End::kFail, "");
      return End::kFail;
    }
    std::vector<int64_t> balances;
    for (const auto& result : got->results()) {
      int64_t balance = -1;
      if (!result.found()) continue;
      if (!absl::SimpleAtoi(result.value(), &balance)) balance = -1;
      balances.push_back(balance);
    }
    log_->Return(process, End::kOk, Balances(balances));
    return End::kOk;
  }

  client::Client* const client_;
  HistoryLog* const log_;
  Generations names_{"bank", kBanks, kLasts};
  absl::Mutex mutex_;
  std::set<std::string> begun_ ABSL_GUARDED_BY(mutex_);  // someone opens it
  std::set<std::string> open_ ABSL_GUARDED_BY(mutex_);   // and has
};

}  // namespace

std::unique_ptr<Workload> MakeBank(client::Client* client, HistoryLog* log,
                                   Place) {
  return std::make_unique<Bank>(client, log);
}

}  // namespace kamino::chaos
