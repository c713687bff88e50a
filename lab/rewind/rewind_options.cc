#include "lab/rewind/rewind_options.h"

#include "absl/strings/str_cat.h"

namespace kamino::engine {
namespace {

constexpr size_t kMostGroup = 64;

absl::string_view FormName(LogForm form) {
  switch (form) {
    case LogForm::kSimple:
      return "simple";
    case LogForm::kOptimized:
      return "optimized";
    case LogForm::kBatch:
      return "batch";
  }
  return "";
}

}  // namespace

std::string RewindOptions::Name() const {
  return absl::StrCat("rewind-", layers, force ? "-force-" : "-noforce-",
                      FormName(form));
}

absl::Status CheckRewind(const RewindOptions& options) {
  if (options.layers != 1 && options.layers != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "REWIND of ", options.layers, " layers; there are 1 and 2"));
  }
  if (options.bucket == 0 || options.group == 0 || options.group > kMostGroup ||
      options.checkpoint_records == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "REWIND with buckets of ", options.bucket, ", groups of ",
        options.group, " (at most ", kMostGroup, ") and a checkpoint after ",
        options.checkpoint_records, " records; each is 1 at least"));
  }
  if (options.log_wait < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "REWIND with a log_wait of ", absl::FormatDuration(options.log_wait),
        "; it must not be negative"));
  }
  return absl::OkStatus();
}

std::optional<RewindOptions> RewindNamed(absl::string_view name) {
  if (name == "rewind") return RewindOptions();
  for (const RewindOptions& options : AllRewinds()) {
    if (options.Name() == name) return options;
  }
  return std::nullopt;
}

std::vector<RewindOptions> AllRewinds() {
  std::vector<RewindOptions> all;
  for (int layers : {1, 2}) {
    for (bool force : {false, true}) {
      for (LogForm form :
           {LogForm::kSimple, LogForm::kOptimized, LogForm::kBatch}) {
        RewindOptions options;
        options.layers = layers;
        options.force = force;
        options.form = form;
        all.push_back(options);
      }
    }
  }
  return all;
}

}  // namespace kamino::engine
