#include "tests/proto/kept.h"

#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/descriptor.pb.h"

namespace kamino {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

std::string TypeOf(const FieldDescriptor& field) {
  std::string type = field.type_name();
  if (field.message_type() != nullptr) type = field.message_type()->full_name();
  if (field.enum_type() != nullptr) type = field.enum_type()->full_name();
  if (field.is_map()) {
    type = absl::StrCat("map<", TypeOf(*field.message_type()->map_key()), ", ",
                        TypeOf(*field.message_type()->map_value()), ">");
  } else if (field.is_repeated()) {
    type = absl::StrCat("repeated ", type);
  }
  // Whether it is there can be seen: a reader may depend on that.
  if (field.real_containing_oneof() != nullptr) {
    return absl::StrCat(type, " of ", field.real_containing_oneof()->name());
  }
  return field.has_optional_keyword() ? absl::StrCat("optional ", type) : type;
}

void Add(const EnumDescriptor& type, std::vector<std::string>* lines) {
  for (int i = 0; i < type.value_count(); ++i) {
    lines->push_back(absl::StrCat(type.full_name(), " = ",
                                  type.value(i)->number(), " ",
                                  type.value(i)->name()));
  }
  for (int i = 0; i < type.reserved_range_count(); ++i) {
    for (int n = type.reserved_range(i)->start;
         n <= type.reserved_range(i)->end; ++n) {
      lines->push_back(absl::StrCat(type.full_name(), " reserved ", n));
    }
  }
}

void Add(const Descriptor& type, std::vector<std::string>* lines) {
  if (type.options().map_entry()) return;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    lines->push_back(absl::StrCat(type.full_name(), " ", field.number(), " ",
                                  field.name(), ": ", TypeOf(field)));
  }
  for (int i = 0; i < type.reserved_range_count(); ++i) {
    for (int n = type.reserved_range(i)->start; n < type.reserved_range(i)->end;
         ++n) {
      lines->push_back(absl::StrCat(type.full_name(), " reserved ", n));
    }
  }
  for (int i = 0; i < type.nested_type_count(); ++i) {
    Add(*type.nested_type(i), lines);
  }
  for (int i = 0; i < type.enum_type_count(); ++i) {
    Add(*type.enum_type(i), lines);
  }
}

void Add(const ServiceDescriptor& service, std::vector<std::string>* lines) {
  for (int i = 0; i < service.method_count(); ++i) {
    const MethodDescriptor& method = *service.method(i);
    lines->push_back(absl::StrCat(
        method.full_name(), "(", method.client_streaming() ? "stream " : "",
        method.input_type()->full_name(), ") returns (",
        method.server_streaming() ? "stream " : "",
        method.output_type()->full_name(), ")"));
  }
}

// The reserved entry that must replace the line of a field or value.
std::string ReservedFor(const std::string& line) {
  std::pair<std::string, std::string> type_and_rest =
      absl::StrSplit(line, absl::MaxSplits(' ', 1));
  const std::vector<std::string> rest =
      absl::StrSplit(type_and_rest.second, ' ');
  const bool value = rest[0] == "=";
  return absl::StrCat(type_and_rest.first, " reserved ", rest[value ? 1 : 0]);
}

}  // namespace

std::vector<std::string> Describe(const FileDescriptor& file) {
  std::vector<std::string> lines;
  for (int i = 0; i < file.message_type_count(); ++i) {
    Add(*file.message_type(i), &lines);
  }
  for (int i = 0; i < file.enum_type_count(); ++i) {
    Add(*file.enum_type(i), &lines);
  }
  for (int i = 0; i < file.service_count(); ++i) {
    Add(*file.service(i), &lines);
  }
  return lines;
}

std::vector<std::string> Broken(const std::vector<std::string>& kept,
                                const std::vector<std::string>& now) {
  const std::set<std::string> there(now.begin(), now.end());
  std::vector<std::string> broken;
  for (const std::string& line : kept) {
    if (there.count(line) > 0) continue;
    if (absl::StrContains(line, " reserved ")) {
      broken.push_back(absl::StrCat(line, " no more"));
    } else if (absl::StrContains(line, '(')) {
      broken.push_back(absl::StrCat(line, " is gone"));
    } else if (there.count(ReservedFor(line)) == 0) {
      broken.push_back(
          absl::StrCat(line, " is gone or different, and not reserved"));
    }
  }
  return broken;
}

}  // namespace kamino
