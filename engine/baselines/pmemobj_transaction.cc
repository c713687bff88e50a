#include "engine/baselines/pmemobj_transaction.h"

#include <libpmemobj.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/resource_error.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

constexpr uint64_t kObjectType = 1;

absl::Status Error(int error, absl::string_view what, Resource resource) {
  const std::string message =
      absl::StrCat("libpmemobj cannot ", what, ": ", std::strerror(error));
  return error == ENOMEM ? ResourceError(resource, message)
                         : absl::InternalError(message);
}

}  // namespace

pmemoid PmemobjTransaction::OidOf(ObjectId id) const {
  return {store_->pool_uuid_, PmemobjStore::OffsetOf(id)};
}

absl::Status PmemobjTransaction::EnsureBegun() {
  if (begun_) return absl::OkStatus();
  CHECK_EQ(pmemobj_tx_stage(), TX_STAGE_NONE)
      << "a thread's second transaction that changes something";
  const int error = pmemobj_tx_begin(store_->pool_, nullptr, TX_PARAM_NONE);
  if (error != 0) {
    pmemobj_tx_end();
    return Error(error, "begin a transaction", Resource::kLog);
  }
  begun_ = true;
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<std::byte>> PmemobjTransaction::Find(ObjectId id) {
  if (store_->IsLive(id)) return store_->PayloadOf(id);
  return absl::NotFoundError(absl::StrCat("no object has the id ", id));
}

absl::StatusOr<std::byte*> PmemobjTransaction::DeclareWrite(HeldObject& held,
                                                            uint32_t offset,
                                                            uint32_t length) {
  std::byte* const bytes = held.bytes.data() + offset;
  if (held.saved) return bytes;
  RETURN_IF_ERROR(EnsureBegun());
  const bool whole = store_->unit_ == UndoUnit::kObject;
  const int error = pmemobj_tx_xadd_range(
      OidOf(held.id), sizeof(PmemobjStore::Prefix) + (whole ? 0 : offset),
      whole ? held.bytes.size() : length, POBJ_XADD_NO_ABORT);
  if (error != 0) return Error(error, "log a range", Resource::kTransaction);
  held.saved = whole;
  return bytes;
}

absl::StatusOr<BaselineTransaction::NewObject> PmemobjTransaction::Take(
    uint32_t size) {
  RETURN_IF_ERROR(EnsureBegun());
  const PMEMoid oid =
      pmemobj_tx_xalloc(sizeof(PmemobjStore::Prefix) + size, kObjectType,
                        POBJ_XALLOC_ZERO | POBJ_XALLOC_NO_ABORT);
  if (OID_IS_NULL(oid)) {
    return Error(errno, "allocate an object", Resource::kHeap);
  }
  const ObjectId id = store_->MakePrefix(oid.off);
  return NewObject{id, store_->PayloadOf(id)};
}

void PmemobjTransaction::PutBack(ObjectId id) {
  pmemobj_tx_xfree(OidOf(id), POBJ_XFREE_NO_ABORT);
}

absl::Status PmemobjTransaction::DeclareAlloc(HeldObject&) {
  return absl::OkStatus();
}

absl::Status PmemobjTransaction::DeclareFree(HeldObject& held) {
  if (held.id == store_->root_) {
    return absl::InvalidArgumentError("the root object cannot be freed");
  }
  return EnsureBegun();
}

absl::Status PmemobjTransaction::FreeObjects() {
  for (HeldObject& object : held()) {
    if (!object.freed) continue;
    // Its space is free with this call, another's only with the commit.
    if (object.allocated) Unlock(object);
    const int error = pmemobj_tx_xfree(OidOf(object.id), POBJ_XFREE_NO_ABORT);
    if (error != 0) return Error(error, "free an object", Resource::kLog);
  }
  return absl::OkStatus();
}

void PmemobjTransaction::FlushAll() {
  for (const Intent& intent : write_set()) {
    if (intent.kind == IntentKind::kFree) continue;
    pmemobj_flush(store_->pool_, store_->base_ + intent.object + intent.offset,
                  intent.length);
  }
  pmemobj_drain(store_->pool_);
}

absl::Status PmemobjTransaction::MakeDurable(const CommitOptions& options) {
  if (options.before_mark.has_value()) {
    // libpmemobj flushes and marks in one step.
    if (begun_) FlushAll();
    RETURN_IF_ERROR((*options.before_mark)(write_set()));
  }
  if (!begun_) return absl::OkStatus();
  CHECK_EQ(pmemobj_tx_stage(), TX_STAGE_WORK) << "not its thread";
  RETURN_IF_ERROR(FreeObjects());
  for (HeldObject& object : held()) {
    if (!object.freed || object.allocated) continue;
    store_->SetLive(object.id, false);
    Unlock(object);
  }
  pmemobj_tx_commit();
  CHECK_EQ(pmemobj_tx_stage(), TX_STAGE_ONCOMMIT);
  pmemobj_tx_end();
  begun_ = false;
  for (HeldObject& object : held()) {
    if (object.allocated && !object.freed) store_->SetLive(object.id, true);
  }
  return absl::OkStatus();
}

absl::Status PmemobjTransaction::RollBack() {
  if (!begun_) return absl::OkStatus();
  CHECK_EQ(pmemobj_tx_stage(), TX_STAGE_WORK) << "not its thread";
  for (HeldObject& object : held()) {
    if (object.allocated) Unlock(object);
  }
  pmemobj_tx_abort(ECANCELED);
  pmemobj_tx_end();
  begun_ = false;
  return absl::OkStatus();
}

}  // namespace kamino::engine
