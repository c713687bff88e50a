// How long a store takes to open after a crash with a full log, beside how long
// it takes when nothing is left to recover; and what data takes of memory, and
// of the time to open.
#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/engine/stores.h"
#include "bench/harness/clock.h"
#include "engine/baselines/open_store.h"
#include "lab/schemes/crash.h"
#include "lab/schemes/file_copy.h"
#include "lab/schemes/part.h"
#include "lab/wrap/wrap_options.h"

namespace kamino::bench::schemes {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr char kProgram[] = "/proc/self/exe";

// Transactions that fill the log: committed ones that leave work to be done,
// where a scheme has such; or an open one.
enum class Full { kOfCommitted, kOfOpen };

// How many transactions leave the most to recover, of those that have
// committed: as many as the scheme's log has room for.
uint64_t Fill(const std::string& scheme, uint64_t log, uint64_t objects) {
  constexpr uint64_t kBytesEach = kObjectsEach * kKiB;
  // A bucket each, but for some that are kept.
  if (scheme == "wrap") return log / engine::WrapOptions().bucket_bytes - 32;
  // Records of old and new bytes; an eighth is for what describes them, and
  // another one for a unit beside each: a node of the list, or of a tree. With
  // more the log would make room: CheckFull.
  if (absl::StartsWith(scheme, "rewind-") &&
      absl::StrContains(scheme, "-noforce-")) {
    const bool nodes = absl::StartsWith(scheme, "rewind-2-") ||
                       absl::StrContains(scheme, "-simple");
    return log / (2 * kBytesEach) * (nodes ? 6 : 7) / 8;
  }
  // Each object once: those that have left the queue are in matrices, which all
  // have to be verified, and those in the queue are rolled back.
  if (scheme == "archapt") return objects / kObjectsEach - 1;
  // Nothing of theirs is left, however many there were; Kamino makes its copies
  // when a transaction needs the room.
  return log * 3 / 8 / kBytesEach;
}

// A heap with a log of 16 MiB, the most that there is, but for Archapt's, which
// is larger; in the quick scale with one of 6.
CrashPlan PlanOf(const Setting& setting, const std::string& scheme, Full full) {
  CrashPlan plan;
  plan.scheme = scheme;
  plan.path = absl::StrCat(setting.folder->path(), "/crash");
  plan.bytes = setting.Scaled(256 * kMiB, 96 * kMiB);
  plan.objects = setting.Scaled<uint64_t>(60'000, 25'000);
  const uint64_t log = plan.bytes / 16;
  if (full == Full::kOfCommitted) {
    plan.committed = Fill(scheme, log, plan.objects);
    plan.open = kKiB;
  } else {
    plan.open = log;
  }
  return plan;
}

engine::StoreOptions Existing() {
  engine::StoreOptions options;
  options.mode = engine::PmemMode::kForce;
  options.fresh = false;
  return options;
}

// The store's files, as they are called or with something behind that.
absl::Status CopyFiles(const std::string& from, const std::string& to) {
  for (const char* end : {"", ".backup"}) {
    std::error_code failed;
    if (!std::filesystem::exists(from + end, failed)) continue;
    RETURN_IF_ERROR(CopyFile(from + end, to + end));
  }
  return absl::OkStatus();
}

struct Opening {
  std::vector<double> nanos;
  engine::RecoveryReport report;
};

// Opens what was copied from `image`, and closes it.
absl::Status OpenCopy(const CrashPlan& plan, const std::string& image,
                      Opening* opening) {
  RETURN_IF_ERROR(CopyFiles(image, plan.path));
  const uint64_t begin = Ticks();
  auto store =
      engine::OpenStore(plan.scheme, plan.path, plan.bytes, Existing());
  const double nanos = NanosSince(begin);
  if (!store.ok()) return Annotate(store.status(), plan.scheme);
  opening->nanos.push_back(nanos);
  opening->report = (*store)->recovery_report();
  return absl::OkStatus();
}

// Checks that the log was full before the recovery.
absl::Status CheckFull(const CrashPlan& plan, const Filled& filled,
                       const engine::RecoveryReport& report) {
  const bool done_again =
      plan.scheme == "wrap" || absl::StrContains(plan.scheme, "-noforce-");
  if (!done_again || report.replayed >= filled.committed * 3 / 4) {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat(
      plan.scheme, ": of ", filled.committed, " transactions in the log ",
      report.replayed, " were left to recover"));
}

absl::Status RecoverOne(Setting& setting, const StoreSpec& spec, Full full) {
  const CrashPlan plan = PlanOf(setting, spec.scheme, full);
  ASSIGN_OR_RETURN(const Filled filled, CrashChild(kProgram, plan));
  const std::string image = plan.path + ".image";
  const std::string closed = plan.path + ".closed";
  RETURN_IF_ERROR(CopyFiles(plan.path, image));
  Opening first, after_crash, after_close;
  RETURN_IF_ERROR(OpenCopy(plan, image, &first));
  if (full == Full::kOfCommitted) {
    RETURN_IF_ERROR(CheckFull(plan, filled, first.report));
  }
  RETURN_IF_ERROR(CopyFiles(plan.path, closed));
  for (int round = 0; round < setting.rounds; ++round) {
    RETURN_IF_ERROR(OpenCopy(plan, image, &after_crash));
    RETURN_IF_ERROR(OpenCopy(plan, closed, &after_close));
  }
  setting.folder->Unlink();
  const auto add = [&](const char* measure, std::vector<double> values) {
    setting.points->push_back(
        {full == Full::kOfOpen ? "recovery-open" : "recovery-committed",
         spec.Name(), AsItIs().name, measure, static_cast<double>(plan.bytes),
         std::move(values)});
  };
  add("ns after a crash", after_crash.nanos);
  add("ns after a close", after_close.nanos);
  add("replayed", {static_cast<double>(after_crash.report.replayed)});
  add("rolled back", {static_cast<double>(after_crash.report.rolled_back)});
  add("lost", {static_cast<double>(after_crash.report.lost_objects.size())});
  add("transactions committed", {static_cast<double>(filled.committed)});
  add("bytes open", {static_cast<double>(filled.open)});
  return absl::OkStatus();
}

// Size of a file that the store's objects nearly fill. Kamino's undo copy has
// the heap's size, or a part of it.
uint64_t CloseFileBytes(const StoreSpec& spec, uint64_t objects) {
  // With its header, a multiple of 64; libpmemobj needs more.
  const uint64_t bytes = objects * (kKiB + 64) + kMiB;
  if (absl::StartsWith(spec.scheme, "kamino-")) {
    return FileBytes(StoreSpec{"unsafe", {}}, bytes);
  }
  return FileBytes(spec, CanWatch(spec) ? bytes : bytes * 5 / 4);
}

absl::Status CostsOf(Setting& setting, const StoreSpec& spec) {
  CrashPlan plan;
  plan.scheme = spec.scheme;
  plan.path = absl::StrCat(setting.folder->path(), "/data");
  plan.objects = setting.Scaled<uint64_t>(kMiB, kMiB / 16);  // 1 GiB, or 64 MiB
  plan.bytes = CloseFileBytes(spec, plan.objects);
  // Each object once, which leaves sums over those that have left the queue, as
  // many as there are slots for. The others keep nothing that grows with the
  // data.
  if (spec.scheme == "archapt") plan.committed = plan.objects / kObjectsEach;
  ASSIGN_OR_RETURN(const Filled filled, CrashChild(kProgram, plan));
  // The first finds what the crash left, the others what that has closed.
  std::vector<double> first, nanos;
  for (int round = -1; round < setting.rounds; ++round) {
    const uint64_t begin = Ticks();
    const auto store =
        engine::OpenStore(plan.scheme, plan.path, plan.bytes, Existing());
    (round < 0 ? first : nanos).push_back(NanosSince(begin));
    if (!store.ok()) return Annotate(store.status(), plan.scheme);
  }
  setting.folder->Unlink();
  const auto add = [&](const char* measure, std::vector<double> values) {
    setting.points->push_back({"data", spec.Name(), AsItIs().name, measure,
                               static_cast<double>(plan.objects * kKiB),
                               std::move(values)});
  };
  add("bytes of persistent memory", {static_cast<double>(filled.persistent)});
  add("bytes of DRAM", {static_cast<double>(filled.dram)});
  add("ns to open", std::move(nanos));
  add("ns to open after the crash", std::move(first));
  return absl::OkStatus();
}

}  // namespace

absl::Status DataCosts(Setting& setting) {
  for (const StoreSpec& spec : setting.stores) {
    // The others that are not atomic are the same heap's.
    if (!spec.atomic() && spec.scheme != "unsafe") continue;
    setting.progress(absl::StrCat("data: ", spec.Name()));
    RETURN_IF_ERROR(CostsOf(setting, spec));
  }
  return absl::OkStatus();
}

absl::Status RecoveryTimes(Setting& setting) {
  for (const StoreSpec& spec : setting.stores) {
    // There is nothing to recover by.
    if (!spec.atomic()) continue;
    setting.progress(absl::StrCat("recovery: ", spec.Name()));
    for (const Full full : {Full::kOfCommitted, Full::kOfOpen}) {
      RETURN_IF_ERROR(RecoverOne(setting, spec, full));
    }
  }
  return absl::OkStatus();
}

}  // namespace kamino::bench::schemes
