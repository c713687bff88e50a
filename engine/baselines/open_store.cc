#include "engine/baselines/open_store.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "engine/baselines/scheme.h"
#include "engine/forwarding_store.h"
#include "engine/heap/heap.h"
#include "engine/heap/heap_format.h"

namespace kamino::engine {
namespace {

constexpr char kPmemobj[] = "libpmemobj";

// Whatever else there is in a file beside it, it has an offset in it.
constexpr size_t kMostStoreBytes = size_t{1} << 62;
static_assert(kMinStoreBytes == Heap::kMinBytes);

using StoreOr = absl::StatusOr<std::unique_ptr<TransactionalStore>>;

std::string CopyPath(const std::string& path) {
  return absl::StrCat(path, ".backup");
}

// Files as regions.
class FileRegions final : public StoreRegions {
 public:
  FileRegions(const std::string& path, size_t bytes,
              const StoreOptions& options)
      : path_(path), bytes_(bytes), options_(options) {}

  absl::StatusOr<Region*> OpenHeap() override {
    ASSIGN_OR_RETURN(heap_, Open(path_, bytes_));
    return heap_.get();
  }
  absl::StatusOr<Region*> OpenCopy(uint64_t bytes) override {
    ASSIGN_OR_RETURN(copy_, Open(CopyPath(path_), bytes));
    return copy_.get();
  }
  // The files that an opening that failed has to remove.
  const std::vector<std::string>& made() const { return made_; }

 private:
  absl::StatusOr<std::unique_ptr<FileRegion>> Open(const std::string& path,
                                                   uint64_t bytes) {
    if (!options_.fresh) return FileRegion::Open(path, options_.mode);
    auto region = FileRegion::Create(path, bytes, options_.mode);
    if (region.ok()) made_.push_back(path);
    return region;
  }

  const std::string path_;
  const size_t bytes_;
  const StoreOptions options_;
  std::vector<std::string> made_;
  std::unique_ptr<FileRegion> heap_;
  std::unique_ptr<FileRegion> copy_;  // null: the store has no undo copy
};

// A store with its regions.
class StoreOnFiles final : public ForwardingStore {
 public:
  StoreOnFiles(std::unique_ptr<FileRegions> regions, SchemeStore parts)
      : regions_(std::move(regions)), parts_(std::move(parts)) {}

 protected:
  TransactionalStore& below() const override { return *parts_.store; }

 private:
  const std::unique_ptr<FileRegions> regions_;
  const SchemeStore parts_;
};

// How the file's first bytes name its scheme: by the label of a heap, or as
// libpmemobj's pool. Empty: they do not.
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

// Replaces the error of a file of another scheme, which each scheme notices
// somewhere else, by one text.
absl::Status WithSchemes(const Scheme& scheme, const std::string& path,
                         const absl::Status& wrong) {
  if (!absl::IsFailedPrecondition(wrong)) return wrong;
  const std::string& wanted = scheme.label.empty() ? scheme.name : scheme.label;
  const std::string label = LabelOf(path);
  if (label.empty() || label == wanted) return wrong;
  return absl::FailedPreconditionError(absl::StrCat(
      path, " is a store of \"", label, "\", not of \"", wanted, "\""));
}

// The same error with the file's name.
absl::Status WithPath(const absl::Status& status, const std::string& path) {
  if (absl::StrContains(status.message(), path)) return status;
  absl::Status named(status.code(), absl::StrCat(path, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    named.SetPayload(type, payload);
  });
  return named;
}

StoreOr Open(const Scheme& scheme, const std::string& path, size_t bytes,
             const StoreOptions& options, std::vector<std::string>* made) {
  if (scheme.open_file) return scheme.open_file(path, bytes, options);
  auto regions = absl::make_unique<FileRegions>(path, bytes, options);
  auto parts = scheme.open(*regions, options);
  *made = regions->made();
  if (!parts.ok()) return parts.status();
  return absl::make_unique<StoreOnFiles>(std::move(regions), *std::move(parts));
}

absl::Status CheckOptions(const Scheme& scheme, const StoreOptions& options) {
  if (!(options.alpha > 0 && options.alpha <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("alpha is ", options.alpha, "; it must be in (0, 1]"));
  }
  if (scheme.check_options) return scheme.check_options(options.scheme_options);
  if (options.scheme_options.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("scheme \"", scheme.name,
                                                 "\" has no options, not \"",
                                                 options.scheme_options, "\""));
}

absl::Status CheckFresh(const std::string& path, size_t bytes) {
  if (bytes < kMinStoreBytes || bytes > kMostStoreBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": a store of ", bytes, " bytes; ", kMinStoreBytes,
                     " at least, ", kMostStoreBytes, " at most"));
  }
  for (const std::string& file : {path, CopyPath(path)}) {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) continue;
    return absl::AlreadyExistsError(absl::StrCat(file, " exists"));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> SchemeNames() {
  std::vector<std::string> names;
  for (const Scheme* scheme : LinkedSchemes()) {
    if (scheme->represents) names.push_back(scheme->name);
  }
  return names;
}

std::vector<std::string> AllSchemeNames() {
  std::vector<std::string> names = SchemeNames();
  for (const Scheme* scheme : LinkedSchemes()) {
    if (!scheme->represents) names.push_back(scheme->name);
  }
  return names;
}

StoreOr OpenStore(absl::string_view scheme, const std::string& path,
                  size_t bytes, const StoreOptions& given) {
  StoreOptions options = given;
  options.may_lose = false;
  const Scheme* const found = SchemeNamed(scheme);
  if (found == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("no scheme is called \"", scheme, "\"; there are ",
                     absl::StrJoin(AllSchemeNames(), ", ")));
  }
  RETURN_IF_ERROR(WithPath(CheckOptions(*found, options), path));
  std::vector<std::string> made;
  if (!options.fresh) {
    StoreOr store = Open(*found, path, bytes, options, &made);
    if (store.ok()) return store;
    return WithPath(WithSchemes(*found, path, store.status()), path);
  }
  RETURN_IF_ERROR(CheckFresh(path, bytes));
  // Another process may make the files in the meantime: an opening that fails
  // removes those that it made, and no others.
  StoreOr store = Open(*found, path, bytes, options, &made);
  if (store.ok()) return store;
  for (const std::string& file : made) {
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  }
  return WithPath(store.status(), path);
}

void RemoveStore(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  std::filesystem::remove(CopyPath(path), ignored);
}

}  // namespace kamino::engine
