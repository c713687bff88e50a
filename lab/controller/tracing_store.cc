#include "lab/controller/tracing_store.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "base/status_macros.h"

namespace kamino::bench::controller {
namespace {

using engine::ObjectId;
using engine::Transaction;

// Before each payload; docs/formats/heap.md.
constexpr uint32_t kHeaderBytes = 16;

}  // namespace

class TracingStore::TracingTransaction final
    : public engine::ForwardingTransaction {
 public:
  TracingTransaction(TracingStore* store, Thread* thread,
                     std::unique_ptr<Transaction> below)
      : ForwardingTransaction(std::move(below)),
        store_(*store),
        thread_(*thread) {}
  ~TracingTransaction() override { Ended(); }

  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override {
    ASSIGN_OR_RETURN(const auto bytes, below().Read(id));
    const size_t seen =
        std::min<size_t>(bytes.size(), store_.options_.read_bytes);
    if (seen > 0) Note(EventKind::kLoad, id, static_cast<uint32_t>(seen));
    return bytes;
  }

  absl::StatusOr<std::byte*> Write(ObjectId id, uint32_t offset,
                                   uint32_t length) override {
    ASSIGN_OR_RETURN(std::byte* const bytes, below().Write(id, offset, length));
    NoteStore(id + offset, length);
    return bytes;
  }
  absl::Status Overwrite(ObjectId id, uint32_t offset,
                         absl::Span<const std::byte> bytes) override {
    RETURN_IF_ERROR(below().Overwrite(id, offset, bytes));
    NoteStore(id + offset, bytes.size());
    return absl::OkStatus();
  }
  absl::Status OverwriteBoth(ObjectId id, uint32_t offset,
                             absl::Span<const std::byte> head,
                             absl::Span<const std::byte> bytes) override {
    RETURN_IF_ERROR(below().OverwriteBoth(id, offset, head, bytes));
    NoteStore(id + offset, head.size() + bytes.size());
    return absl::OkStatus();
  }
  absl::StatusOr<ObjectId> Alloc(uint32_t size) override {
    ASSIGN_OR_RETURN(const ObjectId id, below().Alloc(size));
    NoteStore(id - kHeaderBytes, kHeaderBytes);
    return id;
  }
  absl::Status Free(ObjectId id) override {
    RETURN_IF_ERROR(below().Free(id));
    NoteStore(id - kHeaderBytes, kHeaderBytes);
    return absl::OkStatus();
  }

  using Transaction::Commit;
  absl::Status Commit(const engine::CommitOptions& options) override {
    RETURN_IF_ERROR(below().Commit(options));
    store_.Keep(&thread_, events_, stores_);
    Ended();
    return absl::OkStatus();
  }
  absl::Status Abort() override {
    Ended();
    return below().Abort();
  }

  void Note(EventKind kind, uint64_t address, uint32_t bytes) {
    events_.push_back({kind, bytes, address});
  }

 private:
  void NoteStore(uint64_t address, size_t bytes) {
    if (bytes == 0) return;
    stores_ = true;
    Note(EventKind::kStore, address, static_cast<uint32_t>(bytes));
  }
  void Ended() {
    absl::MutexLock lock(&store_.mutex_);
    if (thread_.last == this) thread_.last = nullptr;
  }

  TracingStore& store_;
  Thread& thread_;
  std::vector<Event> events_;
  bool stores_ = false;
};

std::unique_ptr<Transaction> TracingStore::Begin(absl::Duration wait) {
  std::unique_ptr<Transaction> below = below_.Begin(wait);
  absl::MutexLock lock(&mutex_);
  Thread& thread = ThisThread();
  auto transaction =
      std::make_unique<TracingTransaction>(this, &thread, std::move(below));
  thread.last = transaction.get();
  return transaction;
}

void TracingStore::NoteLoad(ObjectId id, uint32_t offset, uint32_t length) {
  absl::MutexLock lock(&mutex_);
  TracingTransaction* const last = ThisThread().last;
  if (last != nullptr) last->Note(EventKind::kLoad, id + offset, length);
}

Trace TracingStore::TakeTrace() {
  absl::MutexLock lock(&mutex_);
  Trace trace;
  for (const auto& thread : threads_) {
    if (thread->events.empty()) continue;
    trace.threads.push_back(std::move(thread->events));
    thread->events.clear();
  }
  return trace;
}

TracingStore::Thread& TracingStore::ThisThread() {
  Thread*& thread = by_id_[std::this_thread::get_id()];
  if (thread == nullptr) {
    threads_.push_back(std::make_unique<Thread>());
    thread = threads_.back().get();
  }
  return *thread;
}

void TracingStore::Keep(Thread* thread, const std::vector<Event>& events,
                        bool stores) {
  absl::MutexLock lock(&mutex_);
  std::vector<Event>& kept = thread->events;
  kept.push_back({EventKind::kBegin});
  if (stores) kept.push_back({EventKind::kOpen});
  kept.insert(kept.end(), events.begin(), events.end());
  if (stores) kept.push_back({EventKind::kClose});
}

}  // namespace kamino::bench::controller
