#include "client/cli/json.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/util/json_util.h"
#include "kamino/v1/kamino.pb.h"
#include "proto/words.h"

namespace kamino::client {
namespace {

bool IsNamedInFull(const google::protobuf::EnumDescriptor& type) {
  return &type == kamino::v1::Reason_descriptor() ||
         &type == kamino::v1::Outcome_descriptor();
}

using Replacements = std::vector<std::pair<std::string, std::string>>;

// What the JSON of such messages has for enums whose values are words.
void AddWords(const google::protobuf::Descriptor& type,
              std::set<const google::protobuf::Descriptor*>* seen,
              Replacements* words) {
  if (!seen->insert(&type).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (field.message_type() != nullptr) {
      AddWords(*field.message_type(), seen, words);
    }
    const google::protobuf::EnumDescriptor* values = field.enum_type();
    if (values == nullptr || IsNamedInFull(*values)) continue;
    for (int v = 0; v < values->value_count(); ++v) {
      words->emplace_back(
          absl::StrFormat("\"%s\":\"%s\"", field.name(),
                          values->value(v)->name()),
          absl::StrFormat("\"%s\":\"%s\"", field.name(),
                          Word(*values, values->value(v)->number())));
    }
  }
}

// A quotation mark within a string is escaped, so that a name and its value
// cannot be met but as such.
std::string WithWords(const google::protobuf::Message& message,
                      const std::string& json) {
  std::set<const google::protobuf::Descriptor*> seen;
  Replacements words;
  AddWords(*message.GetDescriptor(), &seen, &words);
  return absl::StrReplaceAll(json, words);
}

}  // namespace

std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto printed =
      google::protobuf::util::MessageToJsonString(message, &text, options);
  return printed.ok() ? WithWords(message, text) : "{}";
}

}  // namespace kamino::client
