// The engine without a chain: counters in a file, moved by several threads.
// docs/use/engine.md walks through it.
//
//   counters FOLDER     makes FOLDER/heap and FOLDER/backup, or opens them
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/heap/heap.h"
#include "engine/kamino/kamino_store.h"
#include "engine/kamino/undo_copy.h"
#include "engine/kamino/undo_copy_propagator.h"
#include "engine/pmem/file_region.h"

namespace {

using namespace kamino::engine;  // NOLINT: an example

constexpr size_t kHeapBytes = 64u << 20;
constexpr int kThreads = 4;
constexpr int kRounds = 1000;
constexpr absl::Duration kLockWait = absl::Milliseconds(100);

// Members in the order in which they depend on each other.
struct Store {
  std::unique_ptr<FileRegion> heap_region;
  std::unique_ptr<FileRegion> undo_copy_region;
  std::unique_ptr<Heap> heap;
  std::unique_ptr<KaminoStore> store;
  std::unique_ptr<UndoCopyPropagator> propagator;
};

absl::StatusOr<Store> Open(const std::string& folder) {
  const std::string heap_path = folder + "/heap";
  const std::string undo_copy_path = folder + "/backup";
  Store opened;
  // kForce: the file system need not be on persistent memory.
  auto region = FileRegion::Open(heap_path, PmemMode::kForce);
  const bool is_new = absl::IsNotFound(region.status());
  if (is_new) {
    region = FileRegion::Create(heap_path, kHeapBytes, PmemMode::kForce);
  }
  if (!region.ok()) return region.status();
  opened.heap_region = *std::move(region);
  auto heap = is_new ? Heap::Create(opened.heap_region.get(), "counters")
                     : Heap::Open(opened.heap_region.get());
  if (!heap.ok()) return heap.status();
  opened.heap = *std::move(heap);
  region = is_new ? FileRegion::Create(undo_copy_path,
                                       SimpleUndoCopyBytes(kHeapBytes),
                                       PmemMode::kForce)
                  : FileRegion::Open(undo_copy_path, PmemMode::kForce);
  if (!region.ok()) return region.status();
  opened.undo_copy_region = *std::move(region);
  ASSIGN_OR_RETURN(auto undo_copy,
                   is_new ? CreateSimpleUndoCopy(opened.heap.get(),
                                                 opened.undo_copy_region.get())
                          : OpenSimpleUndoCopy(opened.heap.get(),
                                               opened.undo_copy_region.get()));
  // Recovers what a crash left.
  auto store = KaminoStore::Open(opened.heap.get(), std::move(undo_copy));
  if (!store.ok()) return store.status();
  opened.store = *std::move(store);
  opened.propagator = std::make_unique<UndoCopyPropagator>(opened.store.get());
  return opened;
}

// Adds `change` to the root object's counter.
absl::Status Add(Transaction& transaction, ObjectId root, uint32_t counter,
                 int64_t change) {
  ASSIGN_OR_RETURN(
      auto bytes,
      transaction.Write(root, counter * sizeof(int64_t), sizeof(int64_t)));
  int64_t value;
  std::memcpy(&value, bytes, sizeof(value));
  value += change;
  std::memcpy(bytes, &value, sizeof(value));
  return absl::OkStatus();
}

// Moves one from counter 0 to counter 1, or nothing. kAborted: another
// transaction held the object for too long; try again.
absl::Status Move(KaminoStore* store) {
  auto transaction = store->Begin(kLockWait);
  absl::Status done = Add(*transaction, store->root(), 0, -1);
  if (done.ok()) done = Add(*transaction, store->root(), 1, +1);
  if (!done.ok()) return done;  // the transaction's destruction aborts it
  return transaction->Commit();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || std::string(argv[1]) == "--help") {
    std::cerr << "usage: counters FOLDER\n";
    return argc == 2 ? 0 : 2;
  }
  auto opened = Open(argv[1]);
  if (!opened.ok()) {
    std::cerr << "counters: " << opened.status().message() << "\n";
    return 1;
  }
  KaminoStore* store = opened->store.get();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([store] {
      for (int i = 0; i < kRounds; ++i) {
        while (absl::IsAborted(Move(store))) {
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  auto transaction = store->Begin(kLockWait);
  auto bytes = transaction->Read(store->root());
  if (!bytes.ok()) {
    std::cerr << "counters: " << bytes.status().message() << "\n";
    return 1;
  }
  int64_t counters[2];
  std::memcpy(counters, bytes->data(), sizeof(counters));
  std::cout << absl::StrCat(counters[0], " ", counters[1], "\n");
  return 0;
}
