#include "engine/baselines/option_text.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace kamino::engine {

OptionText::OptionText(absl::string_view text) {
  for (absl::string_view word : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(word, absl::MaxSplits('=', 1));
    Option option;
    option.value = std::string(parts.second);
    option.valued = word.size() > parts.first.size();
    if (!options_.emplace(parts.first, std::move(option)).second) {
      Reject(parts.first, "is given twice");
    }
  }
}

void OptionText::Read(absl::string_view name, uint64_t* value) {
  const std::string* const text = Find(name);
  if (text != nullptr && !absl::SimpleAtoi(*text, value)) {
    Reject(name, "takes a number");
  }
}

void OptionText::Read(absl::string_view name, absl::Duration* value) {
  const std::string* const text = Find(name);
  if (text != nullptr && !absl::ParseDuration(*text, value)) {
    Reject(name, "takes a duration such as 250ms");
  }
}

bool OptionText::Has(absl::string_view name) {
  if (Find(name) == nullptr) return false;
  if (options_.find(name)->second.valued) Reject(name, "takes no value");
  return true;
}

absl::Status OptionText::Finish(absl::string_view scheme) const {
  for (const auto& [name, option] : options_) {
    if (option.known) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "scheme \"", scheme, "\" has no option \"", name, "\"; it has ",
        names_.empty() ? "none" : absl::StrJoin(names_, ", ")));
  }
  if (status_.ok()) return status_;
  return absl::InvalidArgumentError(
      absl::StrCat("scheme \"", scheme, "\": ", status_.message()));
}

const std::string* OptionText::Find(absl::string_view name) {
  names_.emplace_back(name);
  const auto found = options_.find(name);
  if (found == options_.end()) return nullptr;
  found->second.known = true;
  return &found->second.value;
}

void OptionText::Reject(absl::string_view name, absl::string_view why) {
  if (!status_.ok()) return;
  const auto found = options_.find(name);
  status_ = absl::InvalidArgumentError(
      absl::StrCat("option \"", name, "\" ", why,
                   found == options_.end()
                       ? ""
                       : absl::StrCat(", not \"", found->second.value, "\"")));
}

}  // namespace kamino::engine
