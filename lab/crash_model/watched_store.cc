#include "lab/crash_model/watched_store.h"

#include <map>
#include <vector>

#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::bench::crash_model {
namespace {

using engine::Intent;
using engine::IntentKind;
using engine::ObjectId;
using engine::Transaction;

// Before each payload; docs/formats/heap.md.
constexpr size_t kHeaderBytes = 16;
// How far Archapt's thread is behind, in transactions.
constexpr uint64_t kAdvanceEvery = 64;

}  // namespace

class WatchedStore::WatchedTransaction final
    : public engine::ForwardingTransaction {
 public:
  WatchedTransaction(WatchedStore* store, std::unique_ptr<Transaction> below)
      : ForwardingTransaction(std::move(below)), store_(*store) {}

  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override {
    ASSIGN_OR_RETURN(const auto bytes, below().Read(id));
    store_.region_.Touch(bytes.data(), bytes.size());
    return bytes;
  }
  absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t offset,
                                   uint32_t length) override {
    ASSIGN_OR_RETURN(std::byte* const bytes, below().Write(id, offset, length));
    store_.region_.Touch(bytes, length);
    return bytes;
  }
  absl::StatusOr<ObjectId> Alloc(uint32_t size) override {
    ASSIGN_OR_RETURN(const ObjectId id, below().Alloc(size));
    Touch(id - kHeaderBytes, kHeaderBytes + size);
    return id;
  }
  absl::Status Free(ObjectId id) override {
    RETURN_IF_ERROR(below().Free(id));
    Touch(id - kHeaderBytes, kHeaderBytes);
    return absl::OkStatus();
  }

  using Transaction::Commit;
  absl::Status Commit(const engine::CommitOptions& asked) override {
    TouchStores();
    ASSIGN_OR_RETURN(const std::vector<Change> changes, Changes());
    engine::CommitOptions options = asked;
    uint64_t durable_at = 0;
    options.durable_at = &durable_at;
    if (changes.empty()) {
      RETURN_IF_ERROR(below().Commit(options));
    } else {
      const uint64_t sequence = ++store_.last_sequence_;
      store_.oracle_.Add(sequence, changes, store_.durable_sequence());
      if (absl::Status done = below().Commit(options); !done.ok()) {
        store_.oracle_.RemoveLast(sequence, changes);
        --store_.last_sequence_;
        return done;
      }
      CHECK_EQ(durable_at, sequence);
    }
    if (asked.durable_at != nullptr) *asked.durable_at = durable_at;
    store_.Ended();
    return absl::OkStatus();
  }

 private:
  void Touch(uint64_t offset, size_t length) {
    store_.region_.Touch(store_.region_.base() + offset, length);
  }

  // However long ago they were asked for, here are the last of them.
  void TouchStores() {
    for (const Intent& intent : write_set()) {
      if (intent.kind == IntentKind::kFree) continue;
      Touch(intent.object + intent.offset, intent.length);
    }
  }

  absl::StatusOr<std::vector<Change>> Changes() {
    struct Fate {
      bool made = false;
      bool freed = false;
    };
    std::map<ObjectId, Fate> fates;
    for (const Intent& intent : write_set()) {
      Fate& fate = fates[intent.object];
      fate.made |= intent.kind == IntentKind::kAlloc;
      fate.freed |= intent.kind == IntentKind::kFree;
    }
    std::vector<Change> changes;
    for (const auto& [id, fate] : fates) {
      if (fate.freed) {
        if (!fate.made) changes.push_back({id});
        continue;
      }
      ASSIGN_OR_RETURN(const auto bytes, below().Read(id));
      changes.push_back(
          {id, static_cast<uint32_t>(bytes.size()), HashOf(bytes)});
    }
    return changes;
  }

  WatchedStore& store_;
};

WatchedStore::WatchedStore(engine::ArchaptStore* below, CachedRegion* region)
    : store_(*below), region_(*region) {
  const auto transaction = store_.Begin(absl::ZeroDuration());
  const auto bytes = transaction->Read(root());
  CHECK(bytes.ok()) << bytes.status();
  const Change root{store_.root(), static_cast<uint32_t>(bytes->size()),
                    HashOf(*bytes)};
  oracle_.Add(0, {&root, 1}, 0);
}

std::unique_ptr<Transaction> WatchedStore::Begin(absl::Duration wait) {
  return std::make_unique<WatchedTransaction>(this, store_.Begin(wait));
}

void WatchedStore::Ended() {
  if (++ended_ % kAdvanceEvery == 0) store_.Advance();
}

}  // namespace kamino::bench::crash_model
