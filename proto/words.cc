#include "proto/words.h"

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace kamino {

std::string Word(const google::protobuf::EnumDescriptor& type, int value) {
  const google::protobuf::EnumValueDescriptor* found =
      type.FindValueByNumber(value);
  if (found == nullptr || value == 0) return "unknown";
  const absl::string_view prefix =
      absl::StripSuffix(type.value(0)->name(), "UNSPECIFIED");
  return absl::AsciiStrToLower(absl::StripPrefix(found->name(), prefix));
}

}  // namespace kamino
