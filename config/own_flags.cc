#include "config/own_flags.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/parse_flags.h"

namespace kamino::config {
namespace {

bool IsUnsigned(const absl::CommandLineFlag& flag) {
  return flag.IsOfType<uint16_t>() || flag.IsOfType<uint32_t>() ||
         flag.IsOfType<uint64_t>() ||
         flag.IsOfType<unsigned long long>();  // NOLINT: Abseil's flag type
}

absl::string_view Takes(const absl::CommandLineFlag& flag) {
  if (flag.IsOfType<absl::Duration>()) return "a duration such as 500ms or 5m";
  switch (KindOf(flag)) {
    case ValueKind::kBool:
      return "true or false";
    case ValueKind::kWhole:
      return IsUnsigned(flag) ? "a whole number of 0 or more"
                              : "a whole number";
    case ValueKind::kReal:
      return "a number";
    case ValueKind::kText:
      return "another text";
  }
  return "";
}

}  // namespace

std::map<std::string, absl::CommandLineFlag*> OwnFlags() {
  static const std::set<std::string> kAboutConfig = {
      "config", "check_config", "check_config_file", "config_example"};
  std::map<std::string, absl::CommandLineFlag*> own;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (flag->IsRetired() || !IsOwnFlagFile(flag->Filename())) continue;
    if (kAboutConfig.count(std::string(name)) > 0) continue;
    own.emplace(name, flag);
  }
  return own;
}

ValueKind KindOf(const absl::CommandLineFlag& flag) {
  if (flag.IsOfType<bool>()) return ValueKind::kBool;
  if (flag.IsOfType<double>() || flag.IsOfType<float>()) {
    return ValueKind::kReal;
  }
  if (IsUnsigned(flag) || flag.IsOfType<int16_t>() ||
      flag.IsOfType<int32_t>() || flag.IsOfType<int64_t>() ||
      flag.IsOfType<long long>()) {  // NOLINT: Abseil's flag type
    return ValueKind::kWhole;
  }
  return ValueKind::kText;
}

std::string WhyRefused(const absl::CommandLineFlag& flag, std::string error) {
  // Abseil's prefix, which the caller replaces, and "; " before the flag's own
  // message.
  constexpr char kOfAbseil[] = "' specified for flag '";
  const size_t said = error.find(kOfAbseil);
  const size_t own = error.find("; ", said);
  if (said != std::string::npos) {
    error = own == std::string::npos ? "" : error.substr(own + 2);
  }
  return error.empty() ? absl::StrCat("it takes ", Takes(flag)) : error;
}

std::set<std::string> TypedFlags(int argc, const char* const* argv) {
  std::set<std::string> typed;
  for (int i = 1; i < argc; ++i) {
    absl::string_view word = argv[i];
    if (word == "--") break;
    if (!absl::ConsumePrefix(&word, "-")) continue;
    absl::ConsumePrefix(&word, "-");
    word = word.substr(0, word.find('='));
    if (absl::FindCommandLineFlag(word) == nullptr &&
        absl::ConsumePrefix(&word, "no") &&
        absl::FindCommandLineFlag(word) == nullptr) {
      continue;
    }
    typed.emplace(word);
  }
  return typed;
}

}  // namespace kamino::config
