// Names of enum values for users: ROLE_HEAD is "head"; unspecified and unknown
// values are "unknown".
#ifndef KAMINO_PROTO_WORDS_H_
#define KAMINO_PROTO_WORDS_H_

#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/generated_enum_reflection.h"

namespace kamino {

// Requires the style of our enums: the first value is PREFIX_UNSPECIFIED, and
// all others also begin with PREFIX_.
std::string Word(const google::protobuf::EnumDescriptor& type, int value);

template <typename Enum>
std::string Word(Enum value) {
  return Word(*google::protobuf::GetEnumDescriptor<Enum>(),
              static_cast<int>(value));
}

}  // namespace kamino

#endif  // KAMINO_PROTO_WORDS_H_
