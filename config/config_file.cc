#include "config/config_file.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "config/nearest_name.h"
#include "config/own_flags.h"
#include "config/toml_file.h"

namespace kamino::config {
namespace {

using Flags = std::map<std::string, absl::CommandLineFlag*>;

// Sections of other programs, which check them. The command line also has files
// of its own (docs/use/cli.md).
const std::set<std::string>& Sections() {
  static const auto* sections =
      new std::set<std::string>{"node", "manager", "client", "clusters"};
  return *sections;
}
constexpr char kCurrentCluster[] = "current";  // for the command line

absl::string_view NameOf(ValueKind kind) {
  switch (kind) {
    case ValueKind::kBool:
      return "true or false";
    case ValueKind::kWhole:
      return "a whole number";
    case ValueKind::kReal:
      return "a number";
    case ValueKind::kText:
      return "a text in quotes";
  }
  return "";
}

absl::string_view NameOf(toml::node_type type) {
  switch (type) {
    case toml::node_type::string:
      return "a text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number with a point";
    case toml::node_type::boolean:
      return "true or false";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

// Joins an array of texts, as flags with several values expect. "": not such an
// array.
std::string JoinTexts(const toml::array& array) {
  std::vector<std::string> texts;
  for (const toml::node& element : array) {
    const auto text = element.value_exact<std::string>();
    if (!text.has_value() || absl::StrContains(*text, ",")) return "";
    texts.push_back(*text);
  }
  return absl::StrJoin(texts, ",");
}

// The value in the syntax of a flag of `kind`; nothing: another type.
absl::StatusOr<std::string> TextOf(const toml::node& node, ValueKind kind) {
  if (const auto* text = node.as_string(); text && kind == ValueKind::kText) {
    return text->get();
  }
  if (const auto* array = node.as_array(); array && kind == ValueKind::kText) {
    std::string joined = JoinTexts(*array);
    if (!joined.empty() || array->empty()) return joined;
    return absl::InvalidArgumentError(
        "must be a text in quotes, or an array of such, without commas");
  }
  if (const auto* whole = node.as_integer();
      whole && (kind == ValueKind::kWhole || kind == ValueKind::kReal)) {
    return absl::StrCat(whole->get());
  }
  if (const auto* real = node.as_floating_point();
      real && kind == ValueKind::kReal) {
    return absl::StrCat(real->get());
  }
  if (const auto* yes = node.as_boolean(); yes && kind == ValueKind::kBool) {
    return std::string(yes->get() ? "true" : "false");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("must be ", NameOf(kind), ", not ", NameOf(node.type())));
}

// Whether the flag accepts `text`; leaves its value unchanged.
absl::Status CheckTaken(absl::CommandLineFlag* flag, const std::string& text) {
  const std::string before = flag->CurrentValue();
  std::string error;
  const bool taken = flag->ParseFrom(text, &error);
  std::string ignored;
  flag->ParseFrom(before, &ignored);
  if (taken) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot be ", text, ": ", WhyRefused(*flag, error)));
}

std::vector<std::string> Names(const Flags& flags) {
  std::vector<std::string> names;
  for (const auto& [name, flag] : flags) names.push_back(name);
  return names;
}

// Takes the flags in a table. `for_all`: the part above all sections, which may
// contain sections.
absl::Status Take(const toml::table& table, const std::string& path,
                  absl::string_view program, bool for_all, const Flags& flags,
                  std::map<std::string, FileValue>* values) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const bool section = for_all && Sections().count(name) > 0;
    if (section && node.is_table()) continue;
    if (section) {
      return BadValue(path, key.source(),
                      absl::StrCat(name, " is a section, [", name, "], not ",
                                   NameOf(node.type())));
    }
    if (for_all && name == kCurrentCluster) continue;
    const auto flag = flags.find(name);
    if (flag == flags.end()) {
      std::vector<std::string> known = Names(flags);
      if (for_all) {
        known.insert(known.end(), Sections().begin(), Sections().end());
      }
      return BadValue(
          path, key.source(),
          absl::StrCat("kamino_", program, " has no ",
                       node.is_table() ? "section [" : "setting ", name,
                       node.is_table() ? "]" : "", DidYouMean(name, known),
                       for_all ? "; put settings of another program into its "
                                 "section, such as [node] or [manager]"
                               : ""));
    }
    auto text = TextOf(node, KindOf(*flag->second));
    absl::Status checked =
        text.ok() ? CheckTaken(flag->second, *text) : text.status();
    if (!checked.ok()) {
      return BadValue(path, key.source(),
                      absl::StrCat(name, " ", checked.message()));
    }
    (*values)[name] = {*std::move(text),
                       static_cast<int>(key.source().begin.line)};
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::map<std::string, FileValue>> ReadConfigFile(
    const std::string& path, absl::string_view program) {
  ASSIGN_OR_RETURN(const toml::table file, ReadToml(path));
  const Flags flags = OwnFlags();
  std::map<std::string, FileValue> values;
  RETURN_IF_ERROR(Take(file, path, program, /*for_all=*/true, flags, &values));
  const toml::node* own = file.get(std::string(program));
  if (own == nullptr) return values;
  RETURN_IF_ERROR(
      Take(*own->as_table(), path, program, /*for_all=*/false, flags, &values));
  return values;
}

}  // namespace kamino::config
