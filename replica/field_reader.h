// Reads a serialized proto message field by field and leaves its bytes where
// they are. For messages that carry values; the others are parsed.
//
// A singular field that comes more than once counts as it came last.
#ifndef KAMINO_REPLICA_FIELD_READER_H_
#define KAMINO_REPLICA_FIELD_READER_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace kamino::replica {

class FieldReader {
 public:
  explicit FieldReader(absl::string_view message) : left_(message) {}

  // Goes to the next field; false at the end, or where no field can be.
  bool Next();
  // There was nothing that is no field.
  bool ok() const { return ok_; }

  // The field's number if it is of that kind, else 0. To proto a field that is
  // of another kind than the message has it is one that it does not know.
  uint32_t bytes_number() const { return is_bytes_ ? number_ : 0; }
  uint32_t varint_number() const { return is_varint_ ? number_ : 0; }
  // What it holds, likewise; else 0 or "".
  uint64_t varint() const { return varint_; }
  absl::string_view bytes() const { return bytes_; }

 private:
  bool TakeVarint(uint64_t* value);
  bool TakeBytes(uint64_t length, absl::string_view* bytes);
  bool TakeField();

  absl::string_view left_;
  bool ok_ = true;
  uint32_t number_ = 0;
  bool is_bytes_ = false;
  bool is_varint_ = false;
  uint64_t varint_ = 0;
  absl::string_view bytes_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_FIELD_READER_H_
