// A store of any atomicity scheme, by its name: money moves from one account to
// another, and the store is closed and opened again. docs/use/engine.md walks
// through it.
//
//   ledger SCHEME FILE          makes FILE, or opens it; leaves it closed
//   ledger SCHEME FILE crash    the same, and ends with the store open and a
//                               transaction under way, as a crash would
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "engine/baselines/open_store.h"

namespace {

using namespace kamino::engine;  // NOLINT: an example

constexpr size_t kBytes = 64u << 20;
constexpr int kMoves = 100;
constexpr absl::Duration kLockWait = absl::Milliseconds(100);
constexpr absl::Duration kDurableWait = absl::Seconds(10);

using Store = std::unique_ptr<TransactionalStore>;

absl::StatusOr<Store> Open(const std::string& scheme, const std::string& file) {
  StoreOptions options;
  options.fresh = !std::filesystem::exists(file);
  // Any file will do; on persistent memory leave it at kAuto.
  options.mode = PmemMode::kForce;
  auto store = OpenStore(scheme, file, kBytes, options);
  if (!store.ok()) return store.status();
  if (options.fresh) {
    std::cout << (*store)->scheme() << ": a new store\n";
    return store;
  }
  const RecoveryReport report = (*store)->recovery_report();
  std::cout << (*store)->scheme() << ": opened; last sequence "
            << report.last_sequence << ", " << report.replayed << " replayed, "
            << report.rolled_back << " rolled back, " << report.repaired_lines
            << " lines repaired, " << report.lost_objects.size()
            << " objects lost\n";
  return store;
}

// Adds `change` to the account of that number in the root object.
absl::Status Add(Transaction& transaction, ObjectId root, uint32_t account,
                 int64_t change) {
  const uint32_t offset = account * sizeof(int64_t);
  auto bytes = transaction.Read(root);
  if (!bytes.ok()) return bytes.status();
  int64_t value;
  std::memcpy(&value, bytes->data() + offset, sizeof(value));
  value += change;
  return transaction.Overwrite(
      root, offset, {reinterpret_cast<std::byte*>(&value), sizeof(value)});
}

// Moves one from account 0 to account 1, or nothing. `*durable_at`: the number
// to await before the result is reported.
absl::Status Move(TransactionalStore* store, uint64_t* durable_at) {
  auto transaction = store->Begin(kLockWait);
  absl::Status done = Add(*transaction, store->root(), 0, -1);
  if (done.ok()) done = Add(*transaction, store->root(), 1, +1);
  if (!done.ok()) return done;  // the transaction's destruction aborts it
  CommitOptions options;
  options.durable_at = durable_at;
  return transaction->Commit(options);
}

absl::Status Run(TransactionalStore* store) {
  uint64_t durable_at = 0;
  for (int i = 0; i < kMoves; ++i) {
    absl::Status moved = Move(store, &durable_at);
    if (!moved.ok()) return moved;
  }
  // Once for all transfers: they become durable in order. Most schemes need not
  // wait.
  if (!store->AwaitDurable(durable_at, kDurableWait)) {
    return absl::DeadlineExceededError("not durable in time");
  }
  auto transaction = store->Begin(kLockWait);
  auto bytes = transaction->Read(store->root());
  if (!bytes.ok()) return bytes.status();
  int64_t accounts[2];
  std::memcpy(accounts, bytes->data(), sizeof(accounts));
  std::cout << "durable: " << accounts[0] << " " << accounts[1] << "\n";
  return absl::OkStatus();
}

// Does not return.
[[noreturn]] void Crash(TransactionalStore* store) {
  auto transaction = store->Begin(kLockWait);
  const absl::Status begun = Add(*transaction, store->root(), 0, -1);
  std::cout << "ends with a transaction under way" << std::endl;
  _exit(begun.ok() ? 0 : 1);
}

absl::Status Main(const std::string& scheme, const std::string& file,
                  bool crash) {
  auto store = Open(scheme, file);
  if (!store.ok()) return store.status();
  absl::Status ran = Run(store->get());
  if (!ran.ok()) return ran;
  if (crash) Crash(store->get());
  store->reset();  // closes it
  return Open(scheme, file).status();
}

}  // namespace

int main(int argc, char** argv) {
  const bool crash = argc == 4 && std::string(argv[3]) == "crash";
  if (argc != 3 && !crash) {
    std::cerr << "usage: ledger SCHEME FILE [crash]\nschemes:";
    for (const std::string& name : AllSchemeNames()) std::cerr << " " << name;
    std::cerr << "\n";
    return 2;
  }
  const absl::Status done = Main(argv[1], argv[2], crash);
  if (!done.ok()) {
    std::cerr << "ledger: " << done.message() << "\n";
    return 1;
  }
  return 0;
}
