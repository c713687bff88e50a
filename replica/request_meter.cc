#include "replica/request_meter.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "replica/errors.h"

namespace kamino::replica {
namespace {

// Objects between two checks whether the request was abandoned: some ms.
constexpr uint64_t kAskEvery = 4096;

// A block's header, before its payload (docs/formats/heap.md).
constexpr uint64_t kHeaderBytes = 16;

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

void RequestMeter::NoteAlloc(uint64_t bytes) {
  room_.wrote = true;
  room_.allocated += bytes;
}

void RequestMeter::NoteFree(uint64_t bytes) {
  room_.wrote = true;
  room_.freed += bytes;
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
  meter_->NoteWrite();
  return transaction_->Write(id, offset, length);
}

absl::Status MeteredTransaction::Overwrite(engine::ObjectId id, uint32_t offset,
                                           absl::Span<const std::byte> bytes) {
  RETURN_IF_ERROR(meter_->TouchObject());
  meter_->NoteWrite();
  return transaction_->Overwrite(id, offset, bytes);
}

absl::Status MeteredTransaction::OverwriteBoth(
    engine::ObjectId id, uint32_t offset, absl::Span<const std::byte> head,
    absl::Span<const std::byte> bytes) {
  RETURN_IF_ERROR(meter_->TouchObject());
  meter_->NoteWrite();
  return transaction_->OverwriteBoth(id, offset, head, bytes);
}

uint64_t MeteredTransaction::LastBlock(engine::ObjectId id,
                                       engine::IntentKind kind) const {
  const engine::WriteSet& write_set = transaction_->write_set();
  if (write_set.empty() || write_set.back().object != id ||
      write_set.back().kind != kind) {
    return 0;
  }
  return write_set.back().length + kHeaderBytes;
}

absl::StatusOr<engine::ObjectId> MeteredTransaction::Alloc(uint32_t size) {
  RETURN_IF_ERROR(meter_->TouchObject());
  ASSIGN_OR_RETURN(const engine::ObjectId id, transaction_->Alloc(size));
  meter_->NoteAlloc(LastBlock(id, engine::IntentKind::kAlloc));
  return id;
}

absl::Status MeteredTransaction::Free(engine::ObjectId id) {
  RETURN_IF_ERROR(meter_->TouchObject());
  RETURN_IF_ERROR(transaction_->Free(id));
  meter_->NoteFree(LastBlock(id, engine::IntentKind::kFree));
  return absl::OkStatus();
}

absl::Status MeteredTransaction::Commit(const engine::CommitOptions&) {
  LOG(FATAL) << "the creator of a metered transaction must end it";
}

absl::Status MeteredTransaction::Abort() {
  LOG(FATAL) << "the creator of a metered transaction must end it";
}

}  // namespace kamino::replica
