#include "engine/baselines/open_store.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/memory/memory.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "engine/baselines/archapt/archapt_mover.h"
#include "engine/baselines/archapt/archapt_options.h"
#include "engine/baselines/archapt/archapt_store.h"
#include "engine/baselines/heap_store.h"
#include "engine/baselines/pmemobj_store.h"
#include "engine/baselines/rewind/rewind_checkpointer.h"
#include "engine/baselines/rewind/rewind_options.h"
#include "engine/baselines/rewind/rewind_store.h"
#include "engine/baselines/wrap/wrap_retirer.h"
#include "engine/baselines/wrap/wrap_store.h"
#include "engine/forwarding_store.h"
#include "engine/heap/heap.h"
#include "engine/heap/heap_format.h"
#include "engine/kamino/backup.h"
#include "engine/kamino/backup_propagator.h"
#include "engine/kamino/kamino_store.h"

namespace kamino::engine {
namespace {

constexpr absl::string_view kNames[] = {
    "kamino-simple", "kamino-dynamic",
    "undo-object",   "undo-range",
    "undo-own",      "cow",
    "unsafe",        "rewind-1-noforce-batch",
    "wrap",          "archapt",
};
constexpr absl::string_view kSimple = kNames[0];
constexpr absl::string_view kDynamic = kNames[1];
constexpr char kPmemobj[] = "libpmemobj";
constexpr absl::string_view kRivals[] = {"unsafe-each", "cached", "undo-each"};

// Whatever else there is in a file beside it, it has an offset in it.
constexpr size_t kMostStoreBytes = size_t{1} << 62;
static_assert(kMinStoreBytes == Heap::kMinBytes);

using StoreOr = absl::StatusOr<std::unique_ptr<TransactionalStore>>;

std::string BackupPath(const std::string& path) {
  return absl::StrCat(path, ".backup");
}

// Options of an opening, and the files that it has made: an opening that fails
// removes these, and no others.
struct Opening : StoreOptions {
  std::vector<std::string> made;
};

absl::StatusOr<std::unique_ptr<FileRegion>> OpenRegion(const std::string& path,
                                                       size_t bytes,
                                                       Opening& options) {
  if (!options.fresh) return FileRegion::Open(path, options.mode);
  auto region = FileRegion::Create(path, bytes, options.mode);
  if (region.ok()) options.made.push_back(path);
  return region;
}

absl::StatusOr<std::unique_ptr<Heap>> OpenHeap(Region* region,
                                               absl::string_view scheme,
                                               bool fresh) {
  if (fresh) return Heap::Create(region, scheme);
  auto heap = Heap::Open(region);
  if (heap.ok() && (*heap)->label() != scheme) {
    return absl::FailedPreconditionError(
        absl::StrCat("the heap is one of \"", (*heap)->label(), "\""));
  }
  return heap;
}

// The label of the heap that a file's first bytes say it is, or libpmemobj's
// for a pool; empty: they say neither.
std::string LabelOf(const std::string& path) {
  heap_format::Superblock block{};
  std::error_code ignored;
  // Opening a pipe would block until a writer opens it.
  if (!std::filesystem::is_regular_file(path, ignored)) return "";
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(&block), sizeof(block))) return "";
  if (block.magic == heap_format::kHeapMagic) {
    return {block.label, strnlen(block.label, sizeof(block.label))};
  }
  constexpr char kPool[] = "PMEMOBJ";
  const bool pool = std::memcmp(&block, kPool, sizeof(kPool)) == 0;
  return pool ? kPmemobj : "";
}

// Why a file cannot be opened as a store of the scheme: if it is another's, its
// parts say that each in their own way.
absl::Status WhyNot(absl::string_view scheme, const std::string& path,
                    const absl::Status& wrong) {
  if (!absl::IsFailedPrecondition(wrong)) return wrong;
  std::string wanted(scheme);
  if (scheme == "undo-object" || scheme == "undo-range") wanted = kPmemobj;
  const auto rewind = RewindNamed(scheme);
  if (rewind.has_value()) wanted = rewind->Name();
  const std::string label = LabelOf(path);
  if (label.empty() || label == wanted) return wrong;
  return absl::FailedPreconditionError(absl::StrCat(
      path, " is a store of \"", label, "\", not of \"", wanted, "\""));
}

// The same error, of which the message says what it is about.
absl::Status OfFile(const absl::Status& status, const std::string& path) {
  if (absl::StrContains(status.message(), path)) return status;
  absl::Status named(status.code(), absl::StrCat(path, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    named.SetPayload(type, payload);
  });
  return named;
}

// A store and the regions and heap that it stands on, dying in that order.
template <typename Store>
class OwningStore : public ForwardingStore {
 protected:
  TransactionalStore& below() const override { return *store_; }

  std::unique_ptr<FileRegion> region_;
  std::unique_ptr<FileRegion> backup_region_;  // null: it has no backup
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<Store> store_;
};

class OwningHeapStore final : public OwningStore<HeapStore> {
 public:
  static StoreOr Open(HeapScheme scheme, const std::string& path, size_t bytes,
                      Opening& options) {
    auto owner = absl::make_unique<OwningHeapStore>();
    ASSIGN_OR_RETURN(owner->region_, OpenRegion(path, bytes, options));
    ASSIGN_OR_RETURN(
        auto heap,
        OpenHeap(owner->region_.get(), HeapSchemeName(scheme), options.fresh));
    owner->heap_ = std::move(heap);
    ASSIGN_OR_RETURN(owner->store_,
                     HeapStore::Open(scheme, owner->heap_.get()));
    return owner;
  }
};

// The same with a backup and the thread that propagates to it.
class OwningKaminoStore final : public OwningStore<KaminoStore> {
 public:
  static StoreOr Open(absl::string_view scheme, const std::string& path,
                      size_t bytes, Opening& options) {
    auto owner = absl::make_unique<OwningKaminoStore>();
    ASSIGN_OR_RETURN(owner->region_, OpenRegion(path, bytes, options));
    ASSIGN_OR_RETURN(owner->heap_,
                     OpenHeap(owner->region_.get(), scheme, options.fresh));
    ASSIGN_OR_RETURN(auto backup,
                     owner->OpenBackup(scheme, BackupPath(path), options));
    ASSIGN_OR_RETURN(owner->store_,
                     KaminoStore::Open(owner->heap_.get(), std::move(backup)));
    if (options.background) owner->applier_.emplace(owner->store_.get());
    return owner;
  }

 private:
  absl::StatusOr<std::unique_ptr<Backup>> OpenBackup(absl::string_view scheme,
                                                     const std::string& path,
                                                     Opening& options) {
    const bool simple = scheme == kSimple;
    const size_t heap_bytes = region_->size();
    ASSIGN_OR_RETURN(
        auto region,
        OpenRegion(path,
                   simple ? SimpleBackupBytes(heap_bytes)
                          : DynamicBackupBytes(heap_bytes, options.alpha),
                   options));
    backup_region_ = std::move(region);
    Heap* const heap = heap_.get();
    Region* const backup = backup_region_.get();
    if (options.fresh) {
      return simple ? CreateSimpleBackup(heap, backup)
                    : CreateDynamicBackup(heap, backup);
    }
    return simple ? OpenSimpleBackup(heap, backup)
                  : OpenDynamicBackup(heap, backup);
  }

  std::optional<BackupPropagator> applier_;
};

// The same with the thread that makes its checkpoints.
class OwningRewindStore final : public OwningStore<RewindStore> {
 public:
  static StoreOr Open(const RewindOptions& named, const std::string& path,
                      size_t bytes, Opening& options) {
    RewindOptions rewind = options.rewind;
    rewind.layers = named.layers;
    rewind.force = named.force;
    rewind.form = named.form;
    auto owner = absl::make_unique<OwningRewindStore>();
    ASSIGN_OR_RETURN(owner->region_, OpenRegion(path, bytes, options));
    ASSIGN_OR_RETURN(auto heap, OpenHeap(owner->region_.get(), rewind.Name(),
                                         options.fresh));
    owner->heap_ = std::move(heap);
    ASSIGN_OR_RETURN(owner->store_,
                     RewindStore::Open(rewind, owner->heap_.get()));
    if (rewind.keeps_finished() && options.background) {
      owner->checkpointer_.emplace(owner->store_.get());
    }
    return owner;
  }

 private:
  std::optional<RewindCheckpointer> checkpointer_;
};

// The same with the thread that retires; the store has its own heap.
class OwningWrapStore final : public OwningStore<WrapStore> {
 public:
  static StoreOr Open(const std::string& path, size_t bytes, Opening& options) {
    auto owner = absl::make_unique<OwningWrapStore>();
    ASSIGN_OR_RETURN(owner->region_, OpenRegion(path, bytes, options));
    Region* const region = owner->region_.get();
    ASSIGN_OR_RETURN(owner->store_,
                     options.fresh ? WrapStore::Create(region, options.wrap)
                                   : WrapStore::Open(region, options.wrap));
    if (options.background) owner->retirer_.emplace(owner->store_.get());
    return owner;
  }

 private:
  std::optional<WrapRetirer> retirer_;
};

// The same with a log as long as Archapt wants it, and the thread that advances
// it.
class OwningArchaptStore final : public OwningStore<ArchaptStore> {
 public:
  static StoreOr Open(const std::string& path, size_t bytes, Opening& options) {
    const ArchaptOptions& archapt = options.archapt;
    if (archapt.unchecked) {
      return absl::InvalidArgumentError(
          "\"archapt\" is checked: StoreOptions::archapt.unchecked is true");
    }
    auto owner = absl::make_unique<OwningArchaptStore>();
    ASSIGN_OR_RETURN(owner->region_, OpenRegion(path, bytes, options));
    Region* const region = owner->region_.get();
    if (options.fresh) {
      ASSIGN_OR_RETURN(
          owner->heap_,
          Heap::CreateWithLog(region, kArchaptName,
                              ArchaptLogBytes(archapt, region->size())));
    } else {
      ASSIGN_OR_RETURN(owner->heap_,
                       OpenHeap(region, kArchaptName, options.fresh));
    }
    ASSIGN_OR_RETURN(owner->store_,
                     ArchaptStore::Open(archapt, owner->heap_.get()));
    if (options.background) owner->mover_.emplace(owner->store_.get());
    return owner;
  }

 private:
  std::optional<ArchaptMover> mover_;
};

StoreOr OpenPmemobj(UndoUnit unit, const std::string& path, size_t bytes,
                    Opening& options) {
  if (options.mode == PmemMode::kForce) {
    setenv("PMEM_IS_PMEM_FORCE", "1", /*overwrite=*/1);
  }
  ASSIGN_OR_RETURN(auto store, options.fresh
                                   ? PmemobjStore::Create(path, bytes, unit)
                                   : PmemobjStore::Open(path, unit));
  return store;
}

StoreOr OpenByName(absl::string_view scheme, const std::string& path,
                   size_t bytes, Opening& options) {
  if (scheme == kSimple || scheme == kDynamic) {
    return OwningKaminoStore::Open(scheme, path, bytes, options);
  }
  if (scheme == "undo-object") {
    return OpenPmemobj(UndoUnit::kObject, path, bytes, options);
  }
  if (scheme == "undo-range") {
    return OpenPmemobj(UndoUnit::kRange, path, bytes, options);
  }
  if (const auto kind = HeapSchemeNamed(scheme); kind.has_value()) {
    return OwningHeapStore::Open(*kind, path, bytes, options);
  }
  if (const auto rewind = RewindNamed(scheme); rewind.has_value()) {
    return OwningRewindStore::Open(*rewind, path, bytes, options);
  }
  if (scheme == wrap_format::kLabel) {
    return OwningWrapStore::Open(path, bytes, options);
  }
  if (scheme == kArchaptName) {
    return OwningArchaptStore::Open(path, bytes, options);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no scheme is called \"", scheme, "\"; there are ",
                   absl::StrJoin(AllSchemeNames(), ", ")));
}

}  // namespace

absl::Span<const absl::string_view> SchemeNames() { return kNames; }

std::vector<std::string> AllSchemeNames() {
  std::vector<std::string> names;
  for (absl::string_view name : kNames) names.emplace_back(name);
  for (const RewindOptions& options : AllRewinds()) {
    if (options.Name() != RewindOptions().Name()) {
      names.push_back(options.Name());
    }
  }
  for (absl::string_view name : kRivals) names.emplace_back(name);
  return names;
}

StoreOr OpenStore(absl::string_view scheme, const std::string& path,
                  size_t bytes, const StoreOptions& options) {
  Opening opening{options, {}};
  if (!(options.alpha > 0 && options.alpha <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("alpha is ", options.alpha, "; it must be in (0, 1]"));
  }
  if (!options.fresh) {
    StoreOr store = OpenByName(scheme, path, bytes, opening);
    if (store.ok()) return store;
    return OfFile(WhyNot(scheme, path, store.status()), path);
  }
  if (bytes < kMinStoreBytes || bytes > kMostStoreBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": a store of ", bytes, " bytes; ", kMinStoreBytes,
                     " at least, ", kMostStoreBytes, " at most"));
  }
  for (const std::string& file : {path, BackupPath(path)}) {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) continue;
    return absl::AlreadyExistsError(absl::StrCat(file, " exists"));
  }
  // Another process may make it in the meantime.
  StoreOr store = OpenByName(scheme, path, bytes, opening);
  if (store.ok()) return store;
  for (const std::string& file : opening.made) {
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  }
  return OfFile(store.status(), path);
}

void RemoveStore(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  std::filesystem::remove(BackupPath(path), ignored);
}

}  // namespace kamino::engine
