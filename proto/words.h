// Words for values of our protos' enums, as users read them: ROLE_HEAD is
// "head"; what is unspecified, or not known to this program, is "unknown".
#ifndef KAMINO_PROTO_WORDS_H_
#define KAMINO_PROTO_WORDS_H_

#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/generated_enum_reflection.h"

namespace kamino {

// Of enums in our style: the first value is PREFIX_UNSPECIFIED, all others
// begin with PREFIX_, too.
std::string Word(const google::protobuf::EnumDescriptor& type, int value);

template <typename Enum>
std::string Word(Enum value) {
  return Word(*google::protobuf::GetEnumDescriptor<Enum>(),
              static_cast<int>(value));
}

}  // namespace kamino

#endif  // KAMINO_PROTO_WORDS_H_
