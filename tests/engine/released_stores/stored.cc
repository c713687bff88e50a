// A store as a crash leaves it: made, or looked at (released_stores_test.py).
//   stored write SCHEME FILE      prints the objects' ids, and is killed
//   stored check SCHEME FILE ID...
// Its content must never change: this program made all releases' stores.
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/baselines/open_store.h"
#include "engine/transactional_store.h"

namespace {

using kamino::engine::CommitOptions;
using kamino::engine::ObjectId;
using kamino::engine::OpenStore;
using kamino::engine::PmemMode;
using kamino::engine::StoreOptions;
using kamino::engine::Transaction;
using kamino::engine::TransactionalStore;

constexpr size_t kStoreBytes = 8u << 20;
constexpr size_t kObjects = 10;  // the last one is never committed to
constexpr uint32_t kObjectBytes = 100;
constexpr uint32_t kTextAt = 8;
constexpr int kRounds = 20;

[[noreturn]] void Fail(const std::string& why) {
  std::cerr << why << "\n";
  std::exit(1);
}

void Must(const absl::Status& status, absl::string_view what) {
  if (!status.ok()) Fail(absl::StrCat(what, ": ", status.message()));
}
template <typename Value>
void Must(const absl::StatusOr<Value>& value, absl::string_view what) {
  Must(value.status(), what);
}

std::unique_ptr<TransactionalStore> OpenOrEnd(const char* scheme,
                                              const char* file, bool fresh) {
  StoreOptions options;
  options.mode = PmemMode::kForce;
  options.fresh = fresh;
  auto store = OpenStore(scheme, file, kStoreBytes, options);
  if (!store.ok()) Fail(std::string(store.status().message()));
  return *std::move(store);
}

std::string TextOf(size_t object, int round) {
  return absl::StrCat("round ", round, " of object ", object);
}

absl::Span<const std::byte> BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::vector<ObjectId> MakeObjects(TransactionalStore& store) {
  std::vector<ObjectId> ids;
  auto transaction = store.Begin(absl::ZeroDuration());
  while (ids.size() < kObjects) {
    auto id = transaction->Alloc(kObjectBytes);
    Must(id, "Alloc");
    ids.push_back(*id);
  }
  Must(transaction->Commit(), "Commit");
  return ids;
}

// Returns when all is durable.
void CommitRounds(TransactionalStore& store, const std::vector<ObjectId>& ids) {
  uint64_t durable_at = 0;
  CommitOptions options;
  options.durable_at = &durable_at;
  for (int round = 0; round < kRounds; ++round) {
    auto transaction = store.Begin(absl::Seconds(1));
    for (size_t i = 0; i + 1 < kObjects; ++i) {
      const std::string text = TextOf(i, round);
      Must(transaction->Overwrite(ids[i], kTextAt, BytesOf(text)), "Overwrite");
    }
    Must(transaction->Commit(options), "Commit");
  }
  if (!store.AwaitDurable(durable_at, absl::Seconds(10))) {
    Fail("commits do not become durable");
  }
}

// In more pieces than any scheme collects before it stores some.
void ChangeAll(Transaction& transaction, const std::vector<ObjectId>& ids) {
  const auto bytes = transaction.Write(ids.back(), 0, 4);
  Must(bytes, "Write");
  std::memcpy(*bytes, "evil", 4);
  const std::string evil(kObjectBytes - kTextAt, 'x');
  for (size_t i = 0; i + 1 < kObjects; ++i) {
    Must(transaction.Overwrite(ids[i], kTextAt, BytesOf(evil)), "Overwrite");
  }
}

void Write(const char* scheme, const char* file) {
  auto store = OpenOrEnd(scheme, file, /*fresh=*/true);
  const std::vector<ObjectId> ids = MakeObjects(*store);
  CommitRounds(*store, ids);
  auto transaction = store->Begin(absl::Seconds(1));
  ChangeAll(*transaction, ids);
  for (ObjectId id : ids) std::cout << id << " ";
  std::cout << std::endl;
  kill(getpid(), SIGKILL);
}

void CheckObjects(TransactionalStore& store, const std::vector<ObjectId>& ids) {
  auto transaction = store.Begin(absl::ZeroDuration());
  for (size_t i = 0; i < ids.size(); ++i) {
    std::string wanted(kObjectBytes, '\0');
    const std::string text = TextOf(i, kRounds - 1);
    if (i + 1 < kObjects) wanted.replace(kTextAt, text.size(), text);
    const auto read = transaction->Read(ids[i]);
    Must(read, "Read");
    if (read->size() < wanted.size() ||
        std::memcmp(read->data(), wanted.data(), wanted.size()) != 0) {
      Fail(absl::StrCat("object ", i, " is not as it was committed last"));
    }
  }
  Must(transaction->Abort(), "Abort");
}

// Checks the store and continues with it.
void Check(const char* scheme, const char* file,
           const std::vector<ObjectId>& ids) {
  {
    auto store = OpenOrEnd(scheme, file, /*fresh=*/false);
    CheckObjects(*store, ids);
    CommitRounds(*store, ids);
  }
  auto store = OpenOrEnd(scheme, file, /*fresh=*/false);
  CheckObjects(*store, ids);
  auto transaction = store->Begin(absl::ZeroDuration());
  for (ObjectId id : ids) Must(transaction->Free(id), "Free");
  Must(transaction->Commit(), "Commit");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "write" && argc == 4) {
    Write(argv[2], argv[3]);
  } else if (verb == "check" && argc == 4 + static_cast<int>(kObjects)) {
    std::vector<ObjectId> ids;
    for (int i = 4; i < argc; ++i) ids.push_back(std::stoull(argv[i]));
    Check(argv[2], argv[3], ids);
  } else {
    Fail("stored write SCHEME FILE, or stored check SCHEME FILE ID...");
  }
  return 0;
}
