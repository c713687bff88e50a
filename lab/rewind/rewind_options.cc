#include "lab/rewind/rewind_options.h"

#include "absl/strings/str_cat.h"

namespace kamino::engine {
namespace {

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
