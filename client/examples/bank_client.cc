// A tour of the client library: opens two accounts, moves money by a procedure
// and by a transaction of the client's own, and reads the result.
//
//   bank_client 127.0.0.1:7001,127.0.0.1:7002
#include <iostream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "client/client.h"
#include "client/error.h"
#include "client/transaction.h"

namespace kamino::client {
namespace {

absl::StatusOr<int> Balance(Transaction& transaction, const char* account) {
  ASSIGN_OR_RETURN(auto value, transaction.Get(account));
  int balance = 0;
  if (!value.has_value() || !absl::SimpleAtoi(*value, &balance)) {
    return absl::NotFoundError(absl::StrCat("no account ", account));
  }
  return balance;
}

// Does what the procedure does, but as an optimistic transaction, which is
// retried if another client changed an account meanwhile.
absl::Status Transfer(Client& client, const char* from, const char* to,
                      int amount) {
  return client.RunTransaction([&](Transaction& transaction) -> absl::Status {
    ASSIGN_OR_RETURN(auto source, Balance(transaction, from));
    ASSIGN_OR_RETURN(auto target, Balance(transaction, to));
    if (source < amount) return absl::FailedPreconditionError("too poor");
    transaction.Put(from, absl::StrCat(source - amount));
    transaction.Put(to, absl::StrCat(target + amount));
    return absl::OkStatus();
  });
}

absl::Status Run(Client& client) {
  for (const char* account : {"alice", "bob"}) {
    RETURN_IF_ERROR(client.Put(account, "10").status());
  }
  ASSIGN_OR_RETURN(auto moved, client.Call("bank.transfer", "alice bob 3"));
  std::cout << "after the procedure: " << moved.result() << "\n";

  auto refused = client.Call("bank.transfer", "alice bob 100");
  std::cout << "refused: " << refused.status().message() << " ["
            << kamino::v1::Reason_Name(ReasonOf(refused.status())) << "]\n";

  RETURN_IF_ERROR(Transfer(client, "alice", "bob", 2));
  ASSIGN_OR_RETURN(auto both, client.BatchGet({"alice", "bob"}));
  std::cout << "after the transaction: " << both.results(0).value() << " "
            << both.results(1).value() << "\n";
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "bank_client: usage: bank_client HOST:PORT,...\n";
    return 2;
  }
  ClientOptions options;
  options.seeds = absl::StrSplit(argv[1], ',', absl::SkipEmpty());
  auto client = Client::Connect(options);
  absl::Status done = client.ok() ? Run(**client) : client.status();
  if (done.ok()) return 0;
  std::cerr << "bank_client: " << done.message() << "\n";
  return 1;
}

}  // namespace
}  // namespace kamino::client

int main(int argc, char** argv) { return kamino::client::Main(argc, argv); }
