#include "config/typed_flags.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/flags/reflection.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/parse_flags.h"
#include "base/status_macros.h"
#include "config/nearest_name.h"
#include "config/own_flags.h"

namespace kamino::config {
namespace {

absl::Status Unknown(absl::string_view name) {
  std::vector<std::string> known = {"--help", "--version"};
  for (const auto& [own, flag] : absl::GetAllFlags()) {
    if (IsOwnFlagFile(flag->Filename()))
      known.push_back(absl::StrCat("--", own));
  }
  const std::string typed = absl::StrCat("--", name);
  return absl::InvalidArgumentError(absl::StrCat("there is no flag ", typed,
                                                 DidYouMean(typed, known),
                                                 "; --help lists all flags"));
}

absl::Status Set(absl::CommandLineFlag* flag, absl::string_view text) {
  std::string error;
  if (!IsOwnFlagFile(flag->Filename()) || flag->ParseFrom(text, &error)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag->Name(), " cannot be \"", text,
                   "\": ", WhyRefused(*flag, error)));
}

// Sets the flag in one word without its dashes. `next`: the next word, or null;
// sets `took_next` if that is the flag's value.
absl::Status SetByWord(absl::string_view word, const char* next,
                       bool* took_next) {
  const size_t equals = word.find('=');
  const absl::string_view name = word.substr(0, equals);
  std::optional<absl::string_view> value;
  if (equals != absl::string_view::npos) value = word.substr(equals + 1);
  // The program would not know which flags the first three set: a SIGHUP would
  // reset them. The last one hides misspelled flags.
  for (const char* const source :
       {"flagfile", "fromenv", "tryfromenv", "undefok"}) {
    if (name != source) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", name,
                     " is not for this program; set flags on the command line, "
                     "or in a file that --config names"));
  }
  absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
  absl::string_view positive = name;
  if (flag == nullptr && absl::ConsumePrefix(&positive, "no")) {
    flag = absl::FindCommandLineFlag(positive);
    if (flag == nullptr) return Unknown(name);
    if (KindOf(*flag) != ValueKind::kBool || value.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", word, " is no form of --", positive));
    }
    return Set(flag, "false");
  }
  if (flag == nullptr) return Unknown(name);
  if (value.has_value()) return Set(flag, *value);
  if (KindOf(*flag) == ValueKind::kBool) return Set(flag, "true");
  if (next == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", name, " needs a value"));
  }
  *took_next = true;
  return Set(flag, next);
}

}  // namespace

absl::Status SetTypedFlags(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view word = argv[i];
    if (word == "--") break;
    // absl::ParseCommandLine returns words that are not flags.
    if (!absl::ConsumePrefix(&word, "-") || word.empty()) continue;
    absl::ConsumePrefix(&word, "-");
    bool took_next = false;
    RETURN_IF_ERROR(
        SetByWord(word, i + 1 < argc ? argv[i + 1] : nullptr, &took_next));
    if (took_next) ++i;
  }
  return absl::OkStatus();
}

}  // namespace kamino::config
