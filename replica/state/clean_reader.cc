#include "replica/state/clean_reader.h"

#include "absl/strings/str_cat.h"
#include "replica/errors.h"

namespace kamino::replica {

absl::StatusOr<absl::Span<const std::byte>> CleanReader::Read(
    engine::ObjectId id) {
  if (in_flight_->MayHave(id)) {
    met_in_flight_ = true;
    return MakeError(kamino::v1::REASON_NOT_CLEAN,
                     absl::StrCat("object ", id, " is being changed"));
  }
  return reader_->Read(id);
}

}  // namespace kamino::replica
