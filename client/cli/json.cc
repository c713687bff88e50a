#include "client/cli/json.h"

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/util/json_util.h"
#include "kamino/v1/kamino.pb.h"
#include "proto/words.h"

namespace kamino::client {
namespace {

bool IsNamedInFull(const google::protobuf::EnumDescriptor& type) {
  return &type == kamino::v1::Reason_descriptor() ||
         &type == kamino::v1::Outcome_descriptor();
}

// One of our messages, or an entry of a map; null: neither.
using Type = const google::protobuf::Descriptor*;
using Field = const google::protobuf::FieldDescriptor*;

// Names need no unescaping.
std::string Unquoted(absl::string_view token) {
  return std::string(absl::StripSuffix(absl::StripPrefix(token, "\""), "\""));
}

// The field of an object's value; null: not one of ours.
Field MemberOf(Type type, absl::string_view name) {
  if (type == nullptr || type->file()->package() == "google.protobuf") {
    return nullptr;
  }
  return type->FindFieldByName(type->options().map_entry() ? "value"
                                                           : Unquoted(name));
}

// Copies the printer's JSON without white space, and converts enums to words.
class Copier {
 public:
  explicit Copier(absl::string_view json) : left_(json) {}

  // `type`: of the object or of the array's elements; `field`: of the value.
  void Copy(Type type, Field field) {
    if (!IsNext("{") && !IsNext("[")) {
      absl::StrAppend(&copy_, Scalar(field, Take(TokenSize())));
      return;
    }
    const bool object = IsNext("{");
    absl::StrAppend(&copy_, Take(1));
    while (!left_.empty() && !IsNext("}") && !IsNext("]")) {
      if (object) {
        const absl::string_view name = Take(TokenSize());
        absl::StrAppend(&copy_, name, Take(1));  // the colon
        Field member = MemberOf(type, name);
        Copy(member == nullptr ? nullptr : member->message_type(), member);
      } else {
        Copy(type, field);
      }
      if (IsNext(",")) absl::StrAppend(&copy_, Take(1));
    }
    absl::StrAppend(&copy_, Take(1));
  }
  const std::string& copy() const { return copy_; }

 private:
  bool IsNext(absl::string_view text) const {
    return absl::StartsWith(left_, text);
  }
  // Length of a string with its quotation marks, or of a number or literal.
  size_t TokenSize() const {
    if (!IsNext("\"")) return left_.find_first_of(",:]}");
    size_t size = 1;
    while (size < left_.size() && left_[size] != '"') {
      size += left_[size] == '\\' ? 2 : 1;
    }
    return size + 1;
  }
  absl::string_view Take(size_t size) {
    const absl::string_view taken = left_.substr(0, size);
    left_.remove_prefix(taken.size());
    return taken;
  }
  // A later program's enum value, which this one does not know, is a number.
  static std::string Scalar(Field field, absl::string_view token) {
    const auto* type = field == nullptr ? nullptr : field->enum_type();
    if (type == nullptr || IsNamedInFull(*type)) return std::string(token);
    const auto* value = type->FindValueByName(Unquoted(token));
    return absl::StrCat(
        "\"", Word(*type, value == nullptr ? 0 : value->number()), "\"");
  }

  absl::string_view left_;
  std::string copy_;
};

}  // namespace

std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto printed =
      google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!printed.ok()) return "{}";
  Copier copier(text);
  copier.Copy(message.GetDescriptor(), nullptr);
  return copier.copy();
}

}  // namespace kamino::client
