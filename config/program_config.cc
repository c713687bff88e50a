#include "config/program_config.h"

#include "absl/flags/flag.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "config/own_flags.h"
#include "config/reload.h"
#include "glog/logging.h"

ABSL_FLAG(std::string, config, "",
          "Settings file, TOML: its keys are the names of flags, and the "
          "command line overrides it; docs/operate/configuration.md.");
ABSL_FLAG(bool, check_config, false,
          "Only checks all settings. Exits with 0 if the program can start "
          "with them, else with 2.");
ABSL_FLAG(bool, check_config_file, false,
          "Only checks the names and values in the file of --config. Accepts a "
          "file without required settings, which the command line may set. "
          "Opens none of the files that it names.");
ABSL_FLAG(bool, config_example, false,
          "Only prints a file for --config that has all settings.");

namespace kamino::config {
namespace {

// As absl::ParseCommandLine will find it.
absl::Status FindPath(int argc, const char* const* argv, std::string* path) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view word = argv[i];
    if (word == "--") break;
    if (!absl::ConsumePrefix(&word, "-")) continue;
    absl::ConsumePrefix(&word, "-");
    const bool has_value = absl::ConsumePrefix(&word, "config=");
    if (!has_value && (word != "config" || i + 1 == argc)) continue;
    *path = has_value ? std::string(word) : argv[i + 1];
    if (path->empty()) {
      return absl::InvalidArgumentError("--config names no file");
    }
  }
  return absl::OkStatus();
}

using Texts = std::map<std::string, std::string>;

// Sets flags to valid texts and returns their former values.
Texts SetFlags(const Texts& texts) {
  auto flags = OwnFlags();
  Texts before;
  for (const auto& [name, text] : texts) {
    before[name] = flags.at(name)->CurrentValue();
    std::string error;
    LOG_IF(ERROR, !flags.at(name)->ParseFrom(text, &error))
        << "--" << name << " does not take " << text << ": " << error;
  }
  return before;
}

std::string Dashed(const std::set<std::string>& names) {
  return absl::StrJoin(names, ", ", [](std::string* out, const auto& name) {
    absl::StrAppend(out, "--", name);
  });
}

// Calls all reloaders. Returns the names of those that changed something, and
// removes their flags from `changed`.
std::set<std::string> CallReloaders(const Texts& before,
                                    std::set<std::string>* changed) {
  std::set<std::string> taken;
  Reloads::Get().ForEach([&](const Reloader& reloader) {
    const absl::Status done = reloader.reload();
    if (done.ok()) {
      taken.insert(reloader.what);
      return;
    }
    Texts own;
    for (const auto& [name, text] : before) {
      if (reloader.flags.count(name) == 0) continue;
      own[name] = text;
      changed->erase(name);
    }
    SetFlags(own);
    LOG(ERROR) << "SIGHUP: " << reloader.what
               << ": not taken on: " << done.message();
  });
  return taken;
}

}  // namespace

bool OnlyChecks() { return absl::GetFlag(FLAGS_check_config); }
bool OnlyChecksFile() { return absl::GetFlag(FLAGS_check_config_file); }
bool OnlyPrintsExample() { return absl::GetFlag(FLAGS_config_example); }

absl::Status ProgramConfig::Load(int argc, const char* const* argv) {
  typed_ = TypedFlags(argc, argv);
  RETURN_IF_ERROR(FindPath(argc, argv, &path_));
  if (path_.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(values_, ReadConfigFile(path_, program_));
  Texts texts;
  for (const auto& [name, value] : values_) texts[name] = value.text;
  SetFlags(texts);
  return absl::OkStatus();
}

std::string ProgramConfig::WithPlace(absl::string_view error) const {
  absl::string_view name = error;
  if (absl::ConsumePrefix(&name, "--")) {
    name = name.substr(0, name.find_first_of(" =:,"));
    const auto value = values_.find(std::string(name));
    if (value != values_.end() && typed_.count(value->first) == 0) {
      return absl::StrCat(path_, ":", value->second.line, ": ", error);
    }
  }
  return std::string(error);
}

Texts ProgramConfig::Wanted(
    const std::map<std::string, FileValue>& values) const {
  Texts wanted;
  for (const auto& [name, flag] : OwnFlags()) {
    if (typed_.count(name) > 0) continue;
    const auto value = values.find(name);
    wanted[name] =
        value != values.end() ? value->second.text : flag->DefaultValue();
  }
  return wanted;
}

absl::Status ProgramConfig::Adopt(const std::function<absl::Status()>& check) {
  std::set<std::string> reloadable;
  Reloads::Get().ForEach([&reloadable](const Reloader& reloader) {
    reloadable.insert(reloader.flags.begin(), reloader.flags.end());
  });
  const Texts before = SetFlags(Wanted(values_));
  absl::Status checked = check();
  std::set<std::string> changed, for_a_restart;
  Texts not_taken;
  const auto flags = OwnFlags();
  for (const auto& [name, text] : before) {
    if (flags.at(name)->CurrentValue() == text) continue;
    const bool taken = reloadable.count(name) > 0;
    (taken ? changed : for_a_restart).insert(name);
    if (!taken) not_taken[name] = text;
  }
  SetFlags(not_taken);
  // The flags that are in force are only a part of the checked ones.
  if (checked.ok()) checked = check();
  if (!checked.ok()) {
    SetFlags(before);
    return checked;
  }
  const std::set<std::string> taken = CallReloaders(before, &changed);
  LOG(INFO) << "SIGHUP: read anew: "
            << (taken.empty() ? "nothing" : absl::StrJoin(taken, ", "))
            << (changed.empty() ? "" : "; changed: " + Dashed(changed));
  LOG_IF(WARNING, !for_a_restart.empty())
      << "SIGHUP: " << Dashed(for_a_restart)
      << (for_a_restart.size() == 1 ? " has" : " have") << " changed in "
      << path_ << "; restart this process to apply";
  return absl::OkStatus();
}

void ProgramConfig::Reload(const std::function<absl::Status()>& check) {
  std::map<std::string, FileValue> values;
  std::string why;
  if (!path_.empty()) {
    auto read = ReadConfigFile(path_, program_);
    if (read.ok()) values = *std::move(read);
    why = std::string(read.status().message());
  }
  if (why.empty()) {
    values_.swap(values);
    const absl::Status adopted = Adopt(check);
    if (adopted.ok()) return;
    why = WithPlace(adopted.message());
    values_.swap(values);
  }
  LOG(ERROR) << "SIGHUP: the settings stay unchanged: " << why;
}

}  // namespace kamino::config
