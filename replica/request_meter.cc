#include "replica/request_meter.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "replica/errors.h"

namespace kamino::replica {
namespace {

// Objects between two questions whether the request was abandoned: some ms.
constexpr uint64_t kAskEvery = 4096;

}  // namespace

absl::Status RequestMeter::Touch(uint64_t objects) {
  if (!status_.ok()) return status_;
  // Both numbers are far from overflow: a value has at most 1 MiB.
  touched_ += objects;
  if (touched_ > max_touched_) {
    status_ = MakeError(
        kamino::v1::REASON_TOO_LARGE,
        absl::StrCat("the request touches more than ", max_touched_,
                     " objects (pages of the index count, and each ",
                     kBytesPerTouch,
                     " bytes of values); split it, or narrow its ranges"));
  } else if (touched_ - asked_at_ >= kAskEvery && abandoned_ != nullptr &&
             *abandoned_ != nullptr) {
    asked_at_ = touched_;
    if ((*abandoned_)()) {
      status_ = absl::CancelledError(
          "the client gave the request up while it was executed; it was taken "
          "back");
    }
  }
  return status_;
}

absl::Status RequestMeter::TouchBytes(uint64_t bytes) {
  odd_bytes_ += bytes;
  const uint64_t objects = odd_bytes_ / kBytesPerTouch;
  odd_bytes_ %= kBytesPerTouch;
  return Touch(objects);
}

absl::StatusOr<absl::Span<const std::byte>> MeteredTransaction::Read(
    engine::ObjectId id) {
  RETURN_IF_ERROR(meter_->TouchObject());
  return transaction_->Read(id);
}

absl::StatusOr<std::byte*> MeteredTransaction::Write(engine::ObjectId id,
                                                     uint32_t offset,
                                                     uint32_t length) {
  RETURN_IF_ERROR(meter_->TouchObject());
  return transaction_->Write(id, offset, length);
}

absl::Status MeteredTransaction::Overwrite(engine::ObjectId id, uint32_t offset,
                                           absl::Span<const std::byte> bytes) {
  RETURN_IF_ERROR(meter_->TouchObject());
  return transaction_->Overwrite(id, offset, bytes);
}

absl::Status MeteredTransaction::OverwriteBoth(
    engine::ObjectId id, uint32_t offset, absl::Span<const std::byte> head,
    absl::Span<const std::byte> bytes) {
  RETURN_IF_ERROR(meter_->TouchObject());
  return transaction_->OverwriteBoth(id, offset, head, bytes);
}

absl::StatusOr<engine::ObjectId> MeteredTransaction::Alloc(uint32_t size) {
  RETURN_IF_ERROR(meter_->TouchObject());
  return transaction_->Alloc(size);
}

absl::Status MeteredTransaction::Free(engine::ObjectId id) {
  RETURN_IF_ERROR(meter_->TouchObject());
  return transaction_->Free(id);
}

absl::Status MeteredTransaction::Commit(const engine::CommitOptions&) {
  LOG(FATAL) << "a metered transaction is ended by whoever began it";
}

absl::Status MeteredTransaction::Abort() {
  LOG(FATAL) << "a metered transaction is ended by whoever began it";
}

}  // namespace kamino::replica
