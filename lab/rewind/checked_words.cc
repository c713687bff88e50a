#include "lab/rewind/checked_words.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace kamino::engine {

absl::StatusOr<uint64_t> CheckedWords::Read(const uint64_t* word) const {
  if (!checked_) return *word;
  const uint64_t number = NumberIn(*word);
  if (*word == MakeCheckedAlways(number, seed_ ^ OffsetOf(word))) return number;
  return absl::DataLossError(absl::StrCat(
      "the log is damaged: no number is at offset ", OffsetOf(word)));
}

}  // namespace kamino::engine
