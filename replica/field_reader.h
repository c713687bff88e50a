// Reads a serialized proto message field by field and leaves its bytes in
// place. For messages that carry values; others are parsed.
//
// The last occurrence of a singular field counts.
#ifndef KAMINO_REPLICA_FIELD_READER_H_
#define KAMINO_REPLICA_FIELD_READER_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace kamino::replica {

class FieldReader {
 public:
  explicit FieldReader(absl::string_view message) : left_(message) {}

  // Moves to the next field; false at the end, or at invalid bytes.
  bool Next();
  // No invalid bytes were found.
  bool ok() const { return ok_; }

  // The field's number if it is of that kind, else 0. Proto treats a field of
  // another kind than the message's as unknown.
  uint32_t bytes_number() const { return is_bytes_ ? number_ : 0; }
  uint32_t varint_number() const { return is_varint_ ? number_ : 0; }
  // Its value, if it is of that kind; else 0 or "".
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
