// A scheme's options as text: "group=16,scans" (StoreOptions::scheme_options).
#ifndef KAMINO_ENGINE_BASELINES_OPTION_TEXT_H_
#define KAMINO_ENGINE_BASELINES_OPTION_TEXT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace kamino::engine {

// A reader names each option that its scheme has, then calls Finish. Options
// that the text leaves out keep their values.
class OptionText {
 public:
  explicit OptionText(absl::string_view text);

  void Read(absl::string_view name, uint64_t* value);
  // As absl::ParseDuration has it: "250ms".
  void Read(absl::string_view name, absl::Duration* value);
  // Whether the text has this option, which takes no value.
  bool Has(absl::string_view name);

  // kInvalidArgument: a value is malformed, an option is given twice, or the
  // scheme does not have it.
  absl::Status Finish(absl::string_view scheme) const;

 private:
  // The option's value, marked as read; null: the text does not have it.
  const std::string* Find(absl::string_view name);
  void Reject(absl::string_view name, absl::string_view why);

  struct Option {
    std::string value;
    bool valued = false;  // "name=", with a value behind it
    bool known = false;
  };
  std::map<std::string, Option, std::less<>> options_;
  std::vector<std::string> names_;  // that the scheme has
  absl::Status status_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_OPTION_TEXT_H_
