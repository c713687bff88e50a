// How long a store takes to open after a crash with a full log, beside how long
// it takes when nothing is left to recover.
#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/harness/clock.h"
#include "bench/schemes/crash.h"
#include "bench/schemes/part.h"
#include "engine/baselines/open_store.h"

namespace kamino::bench::schemes {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr char kProgram[] = "/proc/self/exe";

// What fills the log: transactions that have committed and whose stores are not
// all in their place yet, where a scheme has such; or one that is open.
enum class Full { kOfCommitted, kOfOpen };

// A heap with a log of 16 MiB, the most that there is. Of what has committed
// some schemes log old and new bytes, and a full log would have them make room:
// it fills three quarters then.
CrashPlan PlanOf(const Setting& setting, const std::string& scheme, Full full) {
  CrashPlan plan;
  plan.scheme = scheme;
  plan.path = absl::StrCat(setting.folder->path(), "/crash");
  plan.bytes = setting.Scaled(256 * kMiB, 64 * kMiB);
  plan.objects = setting.Scaled<uint64_t>(60'000, 15'000);
  const uint64_t log = plan.bytes / 16;
  plan.committed = full == Full::kOfCommitted ? log * 3 / 8 : 0;
  plan.open = full == Full::kOfCommitted ? 1024 : log;
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
    std::filesystem::copy_file(
        from + end, to + end, std::filesystem::copy_options::overwrite_existing,
        failed);
    if (failed) return absl::ResourceExhaustedError(failed.message());
  }
  return absl::OkStatus();
}

struct Opening {
  std::vector<double> nanos;
  engine::RecoveryReport report;
};

// Opens the files, closes them, and does so again for the time that it takes
// when nothing is left.
absl::Status OpenTwice(const CrashPlan& plan, Opening* after_crash,
                       Opening* after_close) {
  for (Opening* opening : {after_crash, after_close}) {
    const uint64_t begin = Ticks();
    auto store =
        engine::OpenStore(plan.scheme, plan.path, plan.bytes, Existing());
    const double nanos = NanosSince(begin);
    if (!store.ok()) return Annotate(store.status(), plan.scheme);
    opening->nanos.push_back(nanos);
    opening->report = (*store)->recovery_report();
  }
  return absl::OkStatus();
}

absl::Status RecoverOne(Setting& setting, const StoreSpec& spec, Full full) {
  const CrashPlan plan = PlanOf(setting, spec.scheme, full);
  ASSIGN_OR_RETURN(const Filled filled, CrashChild(kProgram, plan));
  const std::string image = plan.path + ".image";
  RETURN_IF_ERROR(CopyFiles(plan.path, image));
  Opening after_crash, after_close;
  for (int round = -1; round < setting.rounds; ++round) {
    RETURN_IF_ERROR(CopyFiles(image, plan.path));
    if (round < 0) {
      Opening ignored;
      RETURN_IF_ERROR(OpenTwice(plan, &ignored, &ignored));
    } else {
      RETURN_IF_ERROR(OpenTwice(plan, &after_crash, &after_close));
    }
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
  add("bytes committed", {static_cast<double>(filled.committed)});
  add("bytes open", {static_cast<double>(filled.open)});
  return absl::OkStatus();
}

}  // namespace

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
