// A heap and an undo copy on simulated regions, for tests of the store.
#ifndef KAMINO_TESTS_ENGINE_KAMINO_FIXTURE_H_
#define KAMINO_TESTS_ENGINE_KAMINO_FIXTURE_H_

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "engine/heap/heap.h"
#include "engine/kamino/kamino_store.h"
#include "engine/kamino/undo_copy.h"
#include "engine/pmem/sim_region.h"
#include "gtest/gtest.h"

namespace kamino::engine {

// Later: only PropagateToUndoCopy brings changes into the undo copy. kLog: of
// kTestUndoBytes; it is not opened again.
enum class Scheme { kSimple, kDynamic, kSimpleLater, kDynamicLater, kLog };

inline constexpr Scheme kAllSchemes[] = {Scheme::kSimple, Scheme::kDynamic,
                                         Scheme::kSimpleLater,
                                         Scheme::kDynamicLater};

inline bool IsSimple(Scheme scheme) {
  return scheme == Scheme::kSimple || scheme == Scheme::kSimpleLater;
}
inline bool IsLater(Scheme scheme) {
  return scheme == Scheme::kSimpleLater || scheme == Scheme::kDynamicLater;
}

inline std::string SchemeName(const ::testing::TestParamInfo<Scheme>& info) {
  return std::string(IsSimple(info.param) ? "Simple" : "Dynamic") +
         (IsLater(info.param) ? "Later" : "");
}

inline constexpr size_t kTestHeapBytes = Heap::kMinBytes;
inline constexpr size_t kTestUndoBytes = 32u << 10;

// Stores `text` at the object's beginning.
inline void Overwrite(Transaction& transaction, ObjectId id,
                      const std::string& text) {
  auto bytes = transaction.Write(id, 0, text.size());
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  std::memcpy(*bytes, text.data(), text.size());
}

class StoreUnderTest {
 public:
  // A new heap and an empty undo copy.
  explicit StoreUnderTest(Scheme scheme)
      : scheme_(scheme),
        heap_region_(kTestHeapBytes),
        undo_copy_region_(UndoCopyBytes(scheme)) {
    heap_ = *Heap::Create(&heap_region_, "test");
    Open(*(scheme == Scheme::kLog
               ? CreateLogUndoCopy(heap_.get(), &undo_copy_region_)
           : IsSimple(scheme)
               ? CreateSimpleUndoCopy(heap_.get(), &undo_copy_region_)
               : CreateDynamicUndoCopy(heap_.get(), &undo_copy_region_)));
  }

  // Opens the images of a crash.
  StoreUnderTest(Scheme scheme, const SimRegion::Image& heap,
                 const SimRegion::Image& undo_copy)
      : scheme_(scheme), heap_region_(heap), undo_copy_region_(undo_copy) {}

  // Recovers; only after the second constructor.
  absl::Status Recover() {
    auto heap = Heap::Open(&heap_region_);
    if (!heap.ok()) return heap.status();
    heap_ = std::move(*heap);
    auto undo_copy = IsSimple(scheme_)
                         ? OpenSimpleUndoCopy(heap_.get(), &undo_copy_region_)
                         : OpenDynamicUndoCopy(heap_.get(), &undo_copy_region_);
    if (!undo_copy.ok()) return undo_copy.status();
    auto store =
        KaminoStore::Open(heap_.get(), std::move(*undo_copy), Options());
    if (!store.ok()) return store.status();
    store_ = std::move(*store);
    return absl::OkStatus();
  }

  KaminoStore& store() { return *store_; }
  Heap& heap() { return *heap_; }
  SimRegion& heap_region() { return heap_region_; }
  SimRegion& undo_copy_region() { return undo_copy_region_; }

  std::unique_ptr<Transaction> Begin() {
    return store_->Begin(absl::ZeroDuration());
  }

  // An object that holds `text`, propagated.
  ObjectId Make(const std::string& text) {
    auto transaction = Begin();
    const ObjectId id = *transaction->Alloc(static_cast<uint32_t>(text.size()));
    std::memcpy(*transaction->Write(id, 0, text.size()), text.data(),
                text.size());
    EXPECT_TRUE(transaction->Commit().ok());
    Propagate();
    return id;
  }

  // Everything committed is in the undo copy, and no locks are left.
  void Propagate() {
    while (store_->PropagateToUndoCopy(100) > 0) {
    }
  }

  std::string Text(ObjectId id, size_t length) {
    auto payload = heap_->Payload(id);
    if (!payload.ok()) return std::string(payload.status().message());
    return {reinterpret_cast<const char*>(payload->data()), length};
  }

 private:
  KaminoOptions Options() const {
    KaminoOptions options;
    options.copy_at_commit = !IsLater(scheme_);
    return options;
  }
  static size_t UndoCopyBytes(Scheme scheme) {
    if (scheme == Scheme::kLog) return LogUndoCopyBytes(kTestUndoBytes);
    return IsSimple(scheme) ? SimpleUndoCopyBytes(kTestHeapBytes)
                            : DynamicUndoCopyBytes(kTestHeapBytes, 0.3);
  }
  void Open(std::unique_ptr<UndoCopy> undo_copy) {
    store_ = *KaminoStore::Open(heap_.get(), std::move(undo_copy), Options());
  }

  const Scheme scheme_;
  SimRegion heap_region_;
  SimRegion undo_copy_region_;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<KaminoStore> store_;
};

}  // namespace kamino::engine

#endif  // KAMINO_TESTS_ENGINE_KAMINO_FIXTURE_H_
