#include "client/cli/json.h"

#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/util/json_util.h"
#include "kamino/v1/kamino.pb.h"
#include "nlohmann/json.hpp"
#include "proto/words.h"

namespace kamino::client {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using Json = nlohmann::ordered_json;

bool IsNamedInFull(const EnumDescriptor& type) {
  return &type == kamino::v1::Reason_descriptor() ||
         &type == kamino::v1::Outcome_descriptor();
}

// The word for an enum value. An unknown value of a later release is a number
// in `value`; it counts as 0.
std::string WordOf(const EnumDescriptor& type, const Json& value) {
  const auto* known = value.is_string()
                          ? type.FindValueByName(value.get<std::string>())
                          : nullptr;
  return std::string(Word(type, known == nullptr ? 0 : known->number()));
}

void ReplaceEnums(const Descriptor& type, Json* object);

// `value`: of the field, of one of its elements, or of an entry of its map.
void ReplaceEnums(const FieldDescriptor& field, Json* value) {
  if (field.enum_type() != nullptr) {
    if (!IsNamedInFull(*field.enum_type())) {
      *value = WordOf(*field.enum_type(), *value);
    }
  } else if (field.message_type() != nullptr) {
    ReplaceEnums(*field.message_type(), value);
  }
}

// Replaces the names of enum values by words.
void ReplaceEnums(const Descriptor& type, Json* object) {
  if (type.file()->package() == "google.protobuf") return;
  for (auto& [name, value] : object->items()) {
    const FieldDescriptor* field = type.FindFieldByName(name);
    if (field == nullptr) continue;
    if (!field->is_repeated()) {
      ReplaceEnums(*field, &value);
      continue;
    }
    if (field->is_map()) field = field->message_type()->map_value();
    for (Json& element : value) ReplaceEnums(*field, &element);
  }
}

}  // namespace

std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto printed =
      google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!printed.ok()) return "{}";
  Json json = Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  ReplaceEnums(*message.GetDescriptor(), &json);
  return json.dump(/*indent=*/-1, /*indent_char=*/' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace);
}

}  // namespace kamino::client
