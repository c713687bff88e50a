#include "replica/state/refused_requests.h"

namespace kamino::replica {

using state_format::RefusedSlot;

namespace {

// A head crashed on those bytes, and then another one.
constexpr int kDeathsOfBytes = 2;

bool IsOf(const RefusedSlot& slot, const RequestIdentity& request) {
  return slot.sequence != 0 && slot.client_id == request.client_id &&
         slot.number == request.number && slot.digest == request.digest;
}

bool RefersTo(const RefusedSlot& slot, uint64_t digest) {
  return slot.sequence != 0 && slot.digest == digest && slot.pardoned == 0;
}

}  // namespace

size_t RefusedRequests::size() const {
  size_t count = 0;
  for (const RefusedSlot& slot : kept_.slots) count += slot.sequence != 0;
  return count;
}

bool RefusedRequests::Concern(uint64_t client_id, uint64_t number) const {
  for (const RefusedSlot& slot : kept_.slots) {
    if (slot.sequence == 0) continue;
    if (slot.pardoned == 0) return true;
    if (slot.client_id == client_id && slot.number == number) return true;
  }
  return false;
}

int RefusedRequests::CountOf(uint64_t digest) const {
  int count = 0;
  for (const RefusedSlot& slot : kept_.slots) {
    count += RefersTo(slot, digest);
  }
  return count;
}

bool RefusedRequests::Has(const RequestIdentity& request) const {
  for (const RefusedSlot& slot : kept_.slots) {
    if (IsOf(slot, request)) return true;
  }
  return false;
}

bool RefusedRequests::Refuses(const RequestIdentity& request) const {
  return Has(request) || CountOf(request.digest) >= kDeathsOfBytes;
}

bool RefusedRequests::Watches(const RequestIdentity& request) const {
  return !Refuses(request) && CountOf(request.digest) > 0;
}

RefusedRequests::Changes RefusedRequests::Add(const RequestIdentity& request,
                                              uint64_t sequence) {
  size_t chosen = 0;
  for (size_t i = 0; i < state_format::kRefusedSlots; ++i) {
    const RefusedSlot& slot = kept_.slots[i];
    if (IsOf(slot, request)) {
      chosen = i;
      break;
    }
    // A free one has the lowest number.
    if (slot.sequence < kept_.slots[chosen].sequence) chosen = i;
  }
  kept_.slots[chosen] = {request.client_id, request.number, request.digest,
                         sequence, /*pardoned=*/0};
  return {chosen};
}

RefusedRequests::Changes RefusedRequests::Clear(uint64_t digest) {
  Changes changes;
  for (size_t i = 0; i < state_format::kRefusedSlots; ++i) {
    if (!RefersTo(kept_.slots[i], digest)) continue;
    kept_.slots[i].pardoned = 1;
    changes.push_back(i);
  }
  return changes;
}

}  // namespace kamino::replica
